// The adding problem, and a network that learns it: two of T numbers are marked, and the sum of the two is asked for.
RTX.part('adding', (RTX) => {
  const {CELLS, run, stacked, uniform} = RTX

  // B sequences into x (T B, 2), value and mark, and their sums into target (B); as rtx_lib.tasks.AddingProblem
  function addingBatch(B, T, chance, x, target) {
    x.v.fill(0)
    for (let b = 0; b < B; b++) {
      for (let t = 0; t < T; t++) x.v[2 * (t * B + b)] = chance.uniform()
      const first = chance.below(T), second = (first + 1 + chance.below(T - 1)) % T
      x.v[2 * (first * B + b) + 1] = x.v[2 * (second * B + b) + 1] = 1
      target[b] = x.v[2 * (first * B + b)] + x.v[2 * (second * B + b)]
    }
  }

  class Adder {
    // kind: one of CELLS; scale: factor on the recurrent weights at the start; forget: the LSTM's bias; scan: whether
    // an IndRNN makes its states by the scan
    constructor({kind, length, hidden = 32, batch = 16, layers, scale = 1, forget = 1, seed = 0, scan = false}) {
      layers ||= kind === 'indrnn' ? 2 : 1
      Object.assign(this, {kind, length, hidden, batch, steps: 0, scan: scan && kind === 'indrnn' ? RTX.scan : null})
      // The sequences come from a generator of their own: all cells of one seed are asked the same.
      this.chance = RTX.random(2 * seed + 1)
      const chance = RTX.random(2 * seed), bound = 1 / Math.sqrt(hidden)
      this.layer = Array.from({length: layers}, (_, l) =>
        CELLS[kind].weights(l ? hidden : 2, hidden, chance, {scale, forget, T: length, first: l === 0}))
      this.readout = {weight: uniform(1, hidden, bound, chance), bias: uniform(1, 1, bound, chance)}
      this.tape = new RTX.Tape()
      this.x = RTX.matrix(length * batch, 2)
      this.target = new Float64Array(batch)
      const named = Object.entries(this.named())
      // In a stack of IndRNNs u acts through T steps, and the layers above add up T inputs: both learn at a rate that
      // falls with T (the chapter on the IndRNN).
      const slow = ([name]) => kind === 'indrnn' && /^u_|_l[1-9]/.test(name)
      this.adam = new RTX.Adam(named.map(([, p]) => p), named.map((one) => slow(one) ? 3 / length : 1))
    }
    // {weight_ih_l0: Matrix, ..., 'readout.weight': ..., 'readout.bias': ...}
    named() {
      const own = this.layer.flatMap((w, l) => Object.entries(w).map(([name, p]) => [`${name}_l${l}`, p]))
      return Object.fromEntries([...own, ...Object.entries(this.readout).map(([name, p]) => [`readout.${name}`, p])])
    }
    draw() { addingBatch(this.batch, this.length, this.chance, this.x, this.target) }
    // The mean squared error on the batch in x and target; y (B, 1) are the answers, states those of the last layer
    forward() {
      const {tape, batch, layer} = this
      tape.start()
      let x = this.x
      layer.forEach((w, l) => {
        this.states = run(tape, this.kind, w, x, batch, this.scan)
        if (l + 1 < layer.length) x = stacked(tape, this.states)
      })
      this.y = tape.linear(this.states[this.length - 1].h, this.readout.weight, this.readout.bias)
      return tape.squaredError(this.y, this.target)
    }
    backward() {
      this.adam.zero()
      this.tape.backward()
    }
    // ||dL/dh_t|| at every step, added up over the batch: rtx_lib.diagnostics.gradient_norms
    stateGradients() {
      return this.states.map(({h: {g, r, c}}) => {
        let sum = 0
        for (let b = 0; b < r; b++) {
          let s = 0
          for (let m = b * c; m < (b + 1) * c; m++) s += g[m] * g[m]
          sum += Math.sqrt(s)
        }
        return sum
      })
    }
    // One step on fresh sequences; clip: the largest norm of a gradient, 0 for any
    train(rate, clip) {
      this.draw()
      const loss = this.forward()
      this.backward()
      const norm = this.adam.step(rate, clip)
      if (this.kind === 'indrnn') this.constrain()
      this.steps++
      return {loss, norm}
    }
    // A state that is left alone may at most double over the whole sequence
    constrain() {
      const bound = 2 ** (1 / this.length)
      for (const {u} of this.layer) u.v.forEach((v, j) => { u.v[j] = Math.max(-bound, Math.min(bound, v)) })
    }
  }
  Object.assign(RTX, {addingBatch, Adder})
})
