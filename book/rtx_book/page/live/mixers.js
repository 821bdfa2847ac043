// What reads bits, or other ids: an embedding, layers and a readout, one step at a time. A layer is a cell of
// recurrent.js, Mamba's block, attention, DeltaNet, or steps by h = a h + b, each unit on its own, where a and b see the input alone.
// All that happens is handed out.
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
    reset() { this.kept = {k: [], v: []} }
    get state() { return {k: [...this.kept.k], v: [...this.kept.v]} }
    set state({k, v}) { this.kept = {k: [...k], v: [...v]} }
    read(x) {
      const {w, kept, heads} = this, at = kept.k.length
      const turn = (z) => RTX.layers.rotary(z, at, x.length / heads), slope = (s, head) => (s - at) * 2 ** (-8 * (head + 1) / heads)
      const {y, weights} = RTX.layers.selfAttention(w, x, kept, heads, ...(this.positions === 'alibi' ? [(z) => z, slope] : [turn]))
      return {y, layers: [{weights}]}
    }
  }
  // rtx_lib.layers.ShortConvolution, before the mixer of a layer
  class Convolved {
    constructor({weight, bias}, mixer) {
      Object.assign(this, {weight, bias, mixer})
      this.reset()
    }
    reset() {
      const {r: D, c: reach} = this.weight
      this.past = Array.from({length: reach - 1}, () => new Float64Array(D))
      this.mixer.reset()
    }
    get state() { return {past: this.past, own: this.mixer.state} }
    set state({past, own}) { this.past = past; this.mixer.state = own }
    read(x) {
      const seen = [...this.past, x], {weight: {v, c: reach}, bias} = this
      this.past = seen.slice(1)
      return this.mixer.read(x.map((_, d) => seen.reduce((sum, one, j) => sum + v[d * reach + j] * one[d], bias.v[d])))
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
      if (w.convolutions) this.mixers = this.mixers.map((mixer, i) => new Convolved(w.convolutions[i], mixer))
    }
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
    // Of each mixer; what was handed out never changes. Not of layers that step by h = a h + b, nor of Mamba
    get state() { return this.mixers.map(({state}) => state) }
    set state(state) { this.mixers.forEach((mixer, i) => { mixer.state = state[i] }) }
    reset() { this.mixers.forEach((mixer) => mixer.reset()) }
    // Of each bit: the logits, and of all layers [{h, a, b}], a and b where the layer has them; of Mamba's [{delta}], of
    // attention [{weights}], for each head those of all places so far. off: mixers whose output is 0
    run(bits, {off = []} = {}) {
      this.reset()
      return bits.map((bit) => this.step(bit, off))
    }
    step(bit, off = []) {
      const {norms, mlps, mlp_norms: before, norm: last, readout, linear: simple} = this.w, layers = []
      let x = this.embed(bit)
      this.mixers.forEach((mixer, i) => {
        const own = mixer.read(this.stacked ? norm(x, norms[i]) : x), y = off.includes(i) ? own.y.map(() => 0) : own.y
        layers.push(...own.layers)
        x = this.stacked ? add(x, y) : y
        if (mlps) x = add(x, linear(mlps[i].linear2, linear(mlps[i].linear1, norm(x, before[i])).map(gelu)))
      })
      return {logits: this.stacked ? linear(readout, norm(x, last)) : linear(simple, x), layers}
    }
  }
  RTX.BitReader = BitReader
})
