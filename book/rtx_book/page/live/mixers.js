// What reads bits, or other ids: an embedding, layers and a readout, one step at a time. A layer is a cell of
// recurrent.js, Mamba's block, attention, linear attention or the delta rule, or steps by h = a h + b, each unit on its own,
// where a and b see the input alone. All that happens is handed out. What it remembers can be taken out and put into
// another reader of the same kind: its `state`, of which nothing changes later.
RTX.part('mixers', (RTX) => {
  const {affine, row, norm, tree, gelu, sigmoid, Recurrent} = RTX
  const add = (x, y) => x.map((v, i) => v + y[i])
  const linear = (w, x) => affine(w.weight, x, w.bias)
  const blocks = (v, H) => (k) => v.subarray(k * H, (k + 1) * H)
  const positive = (v) => v >= 0 ? v + 0.5 : sigmoid(v)

  // From the weights w of a layer and its input x: a and b of every unit
  const STEPS = {
    // rtx_lib.layers.selective
    selective({keep, write, low: {v: [low]}}, x) {
      return {a: linear(keep, x).map((v) => low + (1 - low) * sigmoid(v)), b: linear(write, x)}
    },
    // rtx_lib.models.min_rnn; normalised, of minLSTM: whether f + i = 1
    minGRU(w, x, {H}) {
      const block = blocks(linear(w.linear, x), H), z = block(1).map(sigmoid), candidate = block(0)
      return {a: z.map((v) => 1 - v), b: z.map((v, j) => v * positive(candidate[j]))}
    },
    minLSTM(w, x, {H, normalised}) {
      const block = blocks(linear(w.linear, x), H), f = block(1).map(sigmoid), i = block(2).map(sigmoid), candidate = block(0)
      const share = (v, j) => v / (normalised ? f[j] + i[j] : 1)
      return {a: f.map(share), b: i.map((v, j) => share(v, j) * positive(candidate[j]))}
    },
  }
  function kindOf(w, H, place) {
    const kind = w.low && w.keep ? 'selective' : {2: 'minGRU', 3: 'minLSTM'}[(w.linear?.weight.r ?? 0) / H]
    if (!kind) throw new Error(`mixers: no layer is known that has the weights ${place}${Object.keys(w).join(', ')}`)
    return kind
  }

  class Diagonal {
    constructor(w, place, {normalised = true} = {}) {
      const H = (w.out?.weight.c) ?? (w.keep?.weight.r) ?? w.linear?.weight.c
      this.w = w
      this.options = {H, normalised}
      this.kind = kindOf(w, H, place)
      this.reset()
    }
    reset() { this.h = new Float64Array(this.options.H) }
    // The output y, and of each layer inside its states h, with the a and b that made them
    read(x) {
      const {a, b} = STEPS[this.kind](this.w, x, this.options), h = this.h.map((v, j) => a[j] * v + b[j])
      this.h = h
      return {y: this.w.out ? linear(this.w.out, h) : h, layers: [{h, a, b}]}
    }
  }
  class Cells {
    constructor(weights, prefix, options) { this.core = new Recurrent(weights, {prefix, ...options}) }
    reset() { this.core.reset() }
    get state() { return this.core.state.map(({h, c}) => c ? {h, c} : {h}) }
    set state(state) { this.core.reset(state) }
    read(x) {
      const {h, layers} = this.core.read(x)
      return {y: h, layers: layers.map(({h}) => ({h}))}
    }
  }
  // rtx_lib.layers.mixing.AttentionMixer with rotary positions, or with ALiBi for a power of two of heads
  class Attention {
    constructor({attention}, {heads = 1, positions = 'rotary'}) {
      Object.assign(this, {w: attention, heads, positions})
      this.reset()
    }
    reset() { this.state = {k: [], v: [], at: 0} }  // at: how many steps it has read
    read(x) {
      const {w, heads, state: {k, v, at}} = this
      const turn = (z) => RTX.layers.rotary(z, at, x.length / heads), slope = (s, head) => (s - at) * 2 ** (-8 * (head + 1) / heads)
      this.state = {k: [...k], v: [...v], at: at + 1}
      const how = this.positions === 'alibi' ? [(z) => z, slope] : [turn]
      const {y, weights} = RTX.layers.selfAttention(w, x, this.state, heads, ...how)
      return {y, layers: [{weights}]}
    }
  }
  // rtx_lib.layers.ShortConvolution, before the mixer of a layer
  class Near {
    constructor({weight, bias}) { Object.assign(this, {weight, bias, state: []}) }
    reset() { this.state = Array.from({length: this.weight.c - 1}, () => new Float64Array(this.weight.r)) }
    read(x) {
      const seen = [...this.state, x], {weight: {v, c}} = this
      this.state = seen.slice(1)
      return this.bias.v.map((bias, e) => seen.reduce((sum, one, j) => sum + v[e * c + j] * one[e], bias))
    }
  }

  // rtx_lib.layers.Readout of one of these layers, or rtx_lib.layers.mixing.MixerStack of several. Without an embedding
  // it reads the bit as a number, or as one of two columns.
  class BitReader {
    // settings: nonlinearity, reset, update of cells; normalised of minLSTM; heads; positions of attention; largestBeta
    constructor(weights, settings = {}) {
      const w = this.w = tree(weights)
      const made = (own, prefix) => own.weight_hh_l0 ? new Cells(weights, prefix, settings)
        : own.A_log ? new RTX.Mamba(own) : own.attention ? new Attention(own, settings)
        : own.qkv ? new RTX.FastWeights(own, settings) : new Diagonal(own, prefix, settings)
      this.stacked = Boolean(w.mixers)
      if (!this.stacked && !w.core) throw new Error('mixers: there are no weights core. or mixers.')
      this.mixers = this.stacked ? Object.entries(w.mixers).map(([i, own]) => made(own, `mixers.${i}.`)) : [made(w.core, 'core.')]
      this.near = Object.values(w.convolutions ?? {}).map((own) => new Near(own))
      this.reset()
    }
    reset() { [...this.mixers, ...this.near].forEach((part) => part.reset()) }
    get state() { return [...this.mixers, ...this.near].map((part) => part.state) }
    set state(state) { [...this.mixers, ...this.near].forEach((part, i) => { part.state = state[i] }) }
    embed(bit) {
      const {embedding} = this.w
      if (embedding && !embedding.bias) {
        const x = row(embedding.weight, bit)  // as a Transformer's, a stack's is scaled by the root of its width
        return this.stacked ? x.map((v) => v * Math.sqrt(x.length)) : x
      }
      const inputs = (embedding?.weight ?? this.w.core.weight_ih_l0 ?? (this.w.core.keep ?? this.w.core.linear).weight).c
      const x = inputs === 1 ? Float64Array.of(bit) : Float64Array.from({length: inputs}, (_, i) => +(i === bit))
      return embedding ? linear(embedding, x) : x
    }
    // Of each bit: the logits, and of all layers [{h, a, b}], a and b where the layer has them; of Mamba's [{delta}], of
    // attention [{weights}], for each head those of all places so far. off: mixers whose output is 0
    run(bits, {off = []} = {}) {
      this.reset()
      return bits.map((bit) => this.read(bit, off))
    }
    read(bit, off = []) {
      const {norms, mlps, mlp_norms: before, norm: last, readout, linear: simple} = this.w, layers = []
      let x = this.embed(bit)
      this.mixers.forEach((mixer, i) => {
        const normed = this.stacked ? norm(x, norms[i]) : x, own = mixer.read(this.near[i]?.read(normed) ?? normed)
        const y = off.includes(i) ? own.y.map(() => 0) : own.y
        layers.push(...own.layers)
        x = this.stacked ? add(x, y) : y
        if (mlps) x = add(x, linear(mlps[i].linear2, linear(mlps[i].linear1, norm(x, before[i])).map(gelu)))
      })
      return {logits: this.stacked ? linear(readout, norm(x, last)) : linear(simple, x), layers}
    }
  }
  RTX.BitReader = BitReader
})
