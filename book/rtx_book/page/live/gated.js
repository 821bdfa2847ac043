// One layer of an LSTM or a GRU whose gates may be set by hand at any step: every number of every step, to be shown.
RTX.part('gated', (RTX) => {
  const {sigmoid, tanh, affine} = RTX
  // The blocks of torch's weights in order; which of them are gates; the gate that keeps the old memory
  const CELLS = {
    lstm: {blocks: ['i', 'f', 'g', 'o'], gates: ['i', 'f', 'o'], keep: 'f', memory: 'c'},
    gru: {blocks: ['r', 'z', 'n'], gates: ['r', 'z'], keep: 'z', memory: 'h'},
  }
  // One unit and one input, set by hand: a pulse opens i of the LSTM, and shuts z of the GRU. The LSTM's recurrent
  // weights are 0, so that the line is the only way; the GRU's candidate hears h as loudly as x.
  const made = (kind, ...rows) => () => Object.fromEntries(['weight_ih', 'weight_hh', 'bias_ih', 'bias_hh'].map((name, k) => {
    const v = Float64Array.from(rows[k]), H = v.length / CELLS[kind].blocks.length
    return [`${name}_l0`, name.startsWith('weight') ? RTX.matrix(v.length, H, v) : RTX.matrix(1, v.length, v)]
  }))
  const BY_HAND = {
    lstm: made('lstm', [8, 0, 2, 0], [0, 0, 0, 0], [-4, 2, 0, 3], [0, 0, 0, 0]),
    gru: made('gru', [0, -6, 1], [0, 0, 1], [0, 2, 0], [0, 0, 0]),
  }
  const kindOf = ({weight_hh_l0: {r, c}}) => ({3: 'gru', 4: 'lstm'})[r / c]

  // weights: torch's names, each a Matrix; xs: T inputs, vectors; hands[t]: from a gate's name to its value for every
  // unit, null where the weights decide. Returns the steps, each with x, every block's values, c (of an LSTM) and h,
  // all vectors; `wrote` is what the step added to the memory, and `kept` the factor on what was there before.
  function gated(weights, xs, hands = []) {
    const kind = kindOf(weights), {blocks, gates} = CELLS[kind], H = weights.weight_hh_l0.c
    let h = new Float64Array(H), c = new Float64Array(H)
    return xs.map((x, t) => {
      const a = affine(weights.weight_ih_l0, x, weights.bias_ih_l0), u = affine(weights.weight_hh_l0, h, weights.bias_hh_l0)
      const step = {x}
      const value = (name, k, j) => {
        const by = gates.includes(name) ? hands[t]?.[name]?.[j] : null
        if (by !== null && by !== undefined) return by
        const p = k * H + j
        if (name === 'n') return tanh(a[p] + step.r[j] * u[p])
        return (name === 'g' ? tanh : sigmoid)(a[p] + u[p])
      }
      blocks.forEach((name, k) => { step[name] = Float64Array.from({length: H}, (_, j) => value(name, k, j)) })
      if (kind === 'lstm') {
        step.wrote = step.i.map((i, j) => i * step.g[j])
        step.kept = step.f
        c = step.c = c.map((old, j) => step.f[j] * old + step.wrote[j])
        h = step.h = c.map((now, j) => step.o[j] * tanh(now))
      } else {
        step.wrote = step.z.map((z, j) => (1 - z) * step.n[j])
        step.kept = step.z
        h = step.h = h.map((old, j) => step.z[j] * old + step.wrote[j])
      }
      return step
    })
  }

  // The share of what step s wrote that is left at step t (both from 0): the product of the gates that it has passed
  function left(steps, s, t, j = 0) {
    let share = 1
    for (let k = s + 1; k <= t; k++) share *= steps[k].kept[j]
    return share
  }
  // What the write of step s is worth in the memory at step t; over all s they add up to c_t, or to a GRU's h_t
  const worth = (steps, s, t, j = 0) => steps[s].wrote[j] * left(steps, s, t, j)
  // Steps until half of a memory is left under a constant gate
  const halfLife = (keep) => keep <= 0 ? 0 : keep >= 1 ? Infinity : Math.LN2 / -Math.log(keep)

  Object.assign(RTX, {GATED: CELLS, BY_HAND, kindOf, gated, left, worth, halfLife})
})
