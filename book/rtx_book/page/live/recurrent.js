// A trained stack of RNNs, LSTMs or GRUs, read one step at a time; all that happens inside is handed out to be shown.
RTX.part('recurrent', (RTX) => {
  const {sigmoid, tanh, affine} = RTX
  const each = (n, f) => Float64Array.from({length: n}, (_, j) => f(j))

  // From a = W_ih x + b_ih and u = W_hh h + b_hh, each with its blocks below each other, to the next state
  const STEPS = {
    rnn: (a, u, {h}, {relu}) => ({h: h.map((_, j) => relu ? Math.max(0, a[j] + u[j]) : tanh(a[j] + u[j]))}),
    lstm(a, u, {h, c}) {
      const H = h.length, at = (block, f) => each(H, (j) => f(a[block * H + j] + u[block * H + j]))
      const i = at(0, sigmoid), f = at(1, sigmoid), g = at(2, tanh), o = at(3, sigmoid)
      const next = each(H, (j) => f[j] * c[j] + i[j] * g[j])
      return {h: each(H, (j) => o[j] * tanh(next[j])), c: next, gates: {i, f, g, o}}
    },
    gru(a, u, {h}, {before, replaces, candidate}) {
      const H = h.length, at = (block) => each(H, (j) => sigmoid(a[block * H + j] + u[block * H + j]))
      const r = at(0), z = at(1)
      const m = before ? candidate(each(H, (j) => r[j] * h[j])) : each(H, (j) => r[j] * u[2 * H + j])
      const n = each(H, (j) => tanh(a[2 * H + j] + m[j]))
      const keep = replaces ? (j) => 1 - z[j] : (j) => z[j]
      return {h: each(H, (j) => n[j] + keep(j) * (h[j] - n[j])), gates: {r, z, n}}
    },
  }
  const KINDS = {1: 'rnn', 3: 'gru', 4: 'lstm'}  // by the number of blocks

  class Recurrent {
    // weights: {weight_ih_l0: Matrix, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l1, ...}, after a prefix such as
    // 'core.'. nonlinearity: of a simple RNN, 'tanh' or 'relu'; reset, update: of a GRU, as in rtx_lib.layers.GRU.
    constructor(weights, {prefix = '', nonlinearity = 'tanh', reset = 'after', update = 'keeps'} = {}) {
      const get = (name, l) => weights[`${prefix}${name}_l${l}`]
      this.layers = []
      for (let l = 0; get('weight_hh', l); l++) {
        const layer = {}
        for (const name of ['weight_ih', 'weight_hh', 'bias_ih', 'bias_hh']) layer[name] = get(name, l)
        this.layers.push(layer)
      }
      if (!this.layers.length) throw new Error(`Recurrent: there are no weights ${prefix}weight_hh_l0`)
      const {r, c} = this.layers[0].weight_hh
      this.kind = KINDS[r / c]
      this.hidden = c
      this.options = {relu: nonlinearity === 'relu', before: reset === 'before', replaces: update === 'replaces'}
      this.reset()
    }
    // Back to states of zeros, or to those of an earlier time: what `state` was then
    reset(state = null) {
      const zeros = () => new Float64Array(this.hidden)
      this.state = state || this.layers.map(() => this.kind === 'lstm' ? {h: zeros(), c: zeros()} : {h: zeros()})
    }
    // Read one input x, a vector. Returns the last layer's h, and of every layer {h, c, gates}: c of an LSTM;
    // gates {i, f, g, o} or {r, z, n}. Nothing that was handed out changes later.
    read(x) {
      const layers = []
      this.layers.forEach((w, l) => {
        const before = this.state[l], candidate = (v) => affine(w.weight_hh, v, w.bias_hh).subarray(2 * this.hidden)
        const a = affine(w.weight_ih, x, w.bias_ih), u = affine(w.weight_hh, before.h, w.bias_hh)
        layers.push(STEPS[this.kind](a, u, before, {...this.options, candidate}))
        x = layers[l].h
      })
      this.state = layers
      return {h: x, layers}
    }
  }
  RTX.Recurrent = Recurrent
})
