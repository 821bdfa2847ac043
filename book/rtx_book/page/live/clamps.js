// The steps of one ReLU neuron as maps h -> clamp(a + u h, low, high), and the rounds of a scan that joins them, one
// by one to be looked at (`scan` in scan.js is the form to compute with).
RTX.part('clamps', (RTX) => {
  const clamp = (v, low, high) => Math.min(high, Math.max(low, v))
  const TOP = Number.MAX_VALUE  // not Infinity, as 0 * Infinity is NaN
  const stepMap = (z, u) => ({a: z, u, low: 0, high: TOP})
  const apply = ({a, u, low, high}, h) => clamp(a + u * h, low, high)
  // The map that does `first` and then `second`
  function compose(second, first) {
    const p = second.a + second.u * first.low, q = second.a + second.u * first.high
    return {
      a: second.a + second.u * first.a, u: second.u * first.u,
      low: clamp(Math.min(p, q), second.low, second.high), high: clamp(Math.max(p, q), second.low, second.high),
    }
  }
  // All rounds of a scan over z_1..z_T: rows of {from, to, map}, steps from 1; in the round with distance d each entry
  // takes up the one d places before it
  function rounds(z, u) {
    const rows = [z.map((now, t) => ({from: t + 1, to: t + 1, map: stepMap(now, u)}))]
    for (let d = 1; d < z.length; d *= 2) {
      const last = rows[rows.length - 1]
      rows.push(last.map((own, t) => t < d ? own
        : {from: last[t - d].from, to: own.to, map: compose(own.map, last[t - d].map)}))
    }
    return rows
  }
  Object.assign(RTX, {stepMap, applyMap: apply, composeMaps: compose, scanRounds: rounds})
})
