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
    read(x) {
      const {h, layers} = this.core.read(x)
      return {y: h, layers: layers.map(({h}) => ({h}))}
    }
  }
  // rtx_lib.layers.mixing.AttentionMixer with rotary positions
  class Attention {
    constructor({attention}, {heads = 1}) {
      Object.assign(this, {w: attention, heads})
      this.reset()
    }
    reset() { this.kept = {k: [], v: []} }
    read(x) {
      const {w, kept, heads} = this, at = kept.k.length, turn = (z) => RTX.layers.rotary(z, at, x.length / heads)
      const {y, weights} = RTX.layers.selfAttention(w, x, kept, heads, turn)
      return {y, layers: [{weights}]}
    }
  }

  // rtx_lib.models.DeltaNet without a convolution and without a decay; S keeps what stands at each key, head by head
  class Delta {
    constructor(w, {largestBeta = 1}) {
      if (w.conv || w.step) throw new Error('mixers: of DeltaNet its bare form is known, without convolution and decay')
      Object.assign(this, {w, largestBeta, heads: w.beta.weight.r, K: w.norm.weight.v.length})
      this.reset()
    }
    reset() { this.S = Array.from({length: this.heads}, () => new Float64Array(this.K * this.K)) }
    read(x) {
      const {w, K, heads} = this, qkv = linear(w.qkv, x), beta = linear(w.beta, x).map((v) => this.largestBeta * sigmoid(v))
      const part = (place, h) => qkv.subarray(place * x.length + h * K, place * x.length + h * K + K)
      const length = (z) => Math.max(Math.hypot(...z), 1e-6), o = new Float64Array(x.length)
      for (let h = 0; h < heads; h++) {
        const [q, k] = [part(0, h), part(1, h)].map((z) => z.map((v) => v / length(z))), v = part(2, h), S = this.S[h]
        const out = o.subarray(h * K, h * K + K)
        for (let j = 0; j < K; j++) {
          let there = 0
          for (let i = 0; i < K; i++) there += S[i * K + j] * k[i]
          for (let i = 0; i < K; i++) out[j] += (S[i * K + j] += beta[h] * k[i] * (v[j] - there)) * q[i] / Math.sqrt(K)
        }
        const scale = 1 / Math.sqrt(out.reduce((sum, v) => sum + v * v, 0) / K + 1e-5)
        for (let j = 0; j < K; j++) out[j] *= scale * w.norm.weight.v[j]
      }
      return {y: linear(w.out, o), layers: [{beta}]}
    }
  }

  // rtx_lib.layers.Readout of one of these layers, or rtx_lib.layers.mixing.MixerStack of several. Without an embedding
  // it reads the bit as a number, or as one of two columns.
  class BitReader {
    // settings: nonlinearity, reset, update of cells; normalised of minLSTM; heads; largestBeta
    constructor(weights, settings = {}) {
      const w = this.w = tree(weights)
      const made = (own, prefix) => own.weight_hh_l0 ? new Cells(weights, prefix, settings)
        : own.beta ? new Delta(own, settings) : own.A_log ? new RTX.Mamba(own)
        : own.attention ? new Attention(own, settings) : new Diagonal(own, prefix, settings)
      this.stacked = Boolean(w.mixers)
      if (!this.stacked && !w.core) throw new Error('mixers: there are no weights core. or mixers.')
      this.mixers = this.stacked ? Object.entries(w.mixers).map(([i, own]) => made(own, `mixers.${i}.`)) : [made(w.core, 'core.')]
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
    // Of each bit: the logits, and of all layers [{h, a, b}], a and b where the layer has them; of Mamba's [{delta}], of
    // attention [{weights}], for each head those of all places so far. off: mixers whose output is 0
    run(bits, {off = []} = {}) {
      const {norms, mlps, mlp_norms: before, norm: last, readout, linear: simple} = this.w
      this.mixers.forEach((mixer) => mixer.reset())
      return bits.map((bit) => {
        const layers = []
        let x = this.embed(bit)
        this.mixers.forEach((mixer, i) => {
          const own = mixer.read(this.stacked ? norm(x, norms[i]) : x), y = off.includes(i) ? own.y.map(() => 0) : own.y
          layers.push(...own.layers)
          x = this.stacked ? add(x, y) : y
          if (mlps) x = add(x, linear(mlps[i].linear2, linear(mlps[i].linear1, norm(x, before[i])).map(gelu)))
        })
        return {logits: this.stacked ? linear(readout, norm(x, last)) : linear(simple, x), layers}
      })
    }
  }
  RTX.BitReader = BitReader
})
