// The states of a ReLU IndRNN without a loop over the steps: a step h -> relu(z + u h) is a line cut off at a floor and
// a ceiling, clamp(a + u h, low, high), and two of these after each other are one again (rtx_lib/kernels/scan.py).
RTX.part('scan', (RTX) => {
  const {min, max} = Math
  const rounds = (T) => Math.ceil(Math.log2(T))

  // All states h_1..h_T from h_0 = 0, below each other, for z (T B, H) and u (1, H). In the round with distance d, the
  // map at step t takes up the one at t - d: it then covers the last 2 d steps, after ceil(log2 T) rounds all of them
  // (Hillis and Steele 1986). Within a round no map waits for another; here one thread makes them one after the other.
  function scan(z, {v: factors}, B) {
    const n = z.v.length, H = z.c, step = B * H
    const a = Float64Array.from(z.v), u = new Float64Array(n), low = new Float64Array(n)
    const high = new Float64Array(n).fill(Number.MAX_VALUE)  // not Infinity, as 0 * Infinity is NaN
    for (let i = 0; i < n; i++) u[i] = factors[i % H]
    for (let d = step; d < n; d *= 2)
      for (let i = n - 1, j = i - d; j >= 0; i--, j--) {  // from the end, so that j is still as the last round left it
        const p = a[i] + u[i] * low[j], q = a[i] + u[i] * high[j], floor = low[i], ceiling = high[i]
        low[i] = min(ceiling, max(floor, min(p, q)))
        high[i] = min(ceiling, max(floor, max(p, q)))
        a[i] += u[i] * a[j]
        u[i] *= u[j]
      }
    for (let i = 0; i < n; i++) a[i] = min(high[i], max(low[i], a[i]))
    return a
  }

  // The forward pass of an Adder of IndRNNs by the steps and by the scan: milliseconds of each, and the largest
  // difference of any state of the last layer, relative to the largest state.
  function bothWays(model) {
    const before = model.scan, steps = {way: null, ms: Infinity}, scanned = {way: scan, ms: Infinity}
    for (let i = 0; i < 8; i++)  // in turn, and the shortest: the first times are the compiler's
      for (const one of [steps, scanned]) {
        model.scan = one.way
        const start = performance.now()
        model.forward()
        one.ms = min(one.ms, performance.now() - start)
        one.states ||= model.states.map(({h}) => h.v.slice())
      }
    model.scan = before
    let difference = 0, largest = 0
    steps.states.forEach((h, t) => h.forEach((v, i) => {
      difference = max(difference, Math.abs(v - scanned.states[t][i]))
      largest = max(largest, v)
    }))
    return {steps: steps.ms, scanned: scanned.ms, rounds: rounds(model.length), difference: difference / largest || 0}
  }
  Object.assign(RTX, {scan, rounds, bothWays})
})
