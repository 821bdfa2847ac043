// A GPT and a Transformer-XL, read one character at a time. The keys and values of a position never change, as no
// position sees a later one: they are kept, and only the new character goes through the layers.
RTX.part('attention', (RTX) => {
  const {affine, row, softmax, norm, tree} = RTX
  const add = (x, y) => x.map((value, i) => value + y[i])

  const embed = ({embedding: {weight}}, id) => row(weight, id).map((x) => x * Math.sqrt(weight.c))

  // torch's norm with or without a bias
  const layerNorm = (x, {weight, bias}) => norm(x, {weight, bias: bias || {v: new Float64Array(weight.v.length)}})

  // 2/sqrt(pi) exp(-x^2) (x + 2 x^3/3 + 4 x^5/15 + ...): all terms have one sign, so that nothing cancels
  function erf(x) {
    if (Math.abs(x) > 6) return Math.sign(x)
    let term = x, sum = x
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) sum += term *= 2 * x * x / (2 * n + 1)
    return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum
  }
  const ACTIVATIONS = {relu: (x) => Math.max(0, x), gelu: (x) => x / 2 * (1 + erf(x / Math.SQRT2))}
  const feedForward = ({linear1, linear2}, x, activation) =>
    affine(linear2.weight, affine(linear1.weight, x, linear1.bias).map(activation), linear2.bias)

  // One query against S keys, head by head: score(s, head) before the softmax. The mean of the values, and the weights.
  function attend(heads, S, score, values, width) {
    const y = new Float64Array(width), K = width / heads, weights = []
    for (let head = 0; head < heads; head++) {
      const p = softmax(Float64Array.from({length: S}, (_, s) => score(s, head)))
      for (let s = 0; s < S; s++) for (let j = head * K; j < head * K + K; j++) y[j] += p[s] * values[s][j]
      weights.push(p)
    }
    return {y, weights}
  }

  // torch's multi-head attention for one more position x: its key and its value join those that were kept. turn: what
  // its scheme of positions does to the query and to the key; bias(s, head): what it adds to the score
  function selfAttention({in_proj_weight, in_proj_bias, out_proj}, x, {k, v}, heads, turn = (z) => z, bias = () => 0) {
    const width = x.length, K = width / heads, qkv = affine(in_proj_weight, x, in_proj_bias)
    const q = turn(qkv.slice(0, width))
    k.push(turn(qkv.slice(width, 2 * width)))
    v.push(qkv.slice(2 * width))
    const score = (s, head) => {
      let sum = 0
      for (let j = head * K; j < head * K + K; j++) sum += q[j] * k[s][j]
      return sum / Math.sqrt(K) + bias(s, head)
    }
    const {y, weights} = attend(heads, k.length, score, v, width)
    return {y: affine(out_proj.weight, y, out_proj.bias), weights}
  }

  // The same where every position reads all of them: h has a vector for each
  function everyAttention({in_proj_weight, in_proj_bias, out_proj}, h, heads) {
    const width = h[0].length, K = width / heads, qkv = h.map((x) => affine(in_proj_weight, x, in_proj_bias))
    const values = qkv.map((own) => own.subarray(2 * width))
    return qkv.map((own) => {
      const score = (s, head) => {
        let sum = 0
        for (let j = head * K; j < head * K + K; j++) sum += own[j] * qkv[s][width + j]
        return sum / Math.sqrt(K)
      }
      return affine(out_proj.weight, attend(heads, h.length, score, values, width).y, out_proj.bias)
    })
  }

  // Rotary positions: each pair (2i, 2i + 1) of a head of width K turned by p 10000^(-2i/K) radians
  function rotary(x, p, K) {
    const y = new Float64Array(x.length)
    for (let j = 0; j < x.length; j += 2) {
      const angle = p * 10000 ** -((j % K) / K), cos = Math.cos(angle), sin = Math.sin(angle)
      y[j] = x[j] * cos - x[j + 1] * sin
      y[j + 1] = x[j] * sin + x[j + 1] * cos
    }
    return y
  }

  // A part of a layer, f, with the way around it
  const before = (h, w, f) => add(h, f(layerNorm(h, w)))
  const behind = (h, w, f) => layerNorm(add(h, f(h)), w)

  // rtx_lib.models.transformer.CausalTransformer with rotary positions and a table of ids
  class CharGPT {
    // length: most positions at once; a full window starts anew from its younger half. activation: 'gelu' or 'relu'
    constructor(weights, {heads, length = Infinity, activation = 'gelu'}) {
      const w = this.w = tree(weights)
      Object.assign(this, {heads, length, activate: ACTIVATIONS[activation], width: w.embedding.weight.c})
      this.blocks = Object.values(w.stack.blocks)
      this.around = w.stack.norm ? before : behind  // only a stack with its norms in front ends in one more
      this.reset()
    }
    reset() {
      this.ids = []
      this.kept = this.blocks.map(() => ({k: [], v: []}))
    }
    // The logits of what comes after id, and attention[layer][head]: the weights of the last S characters, id's last
    read(id) {
      if (this.ids.length >= this.length) {
        const young = this.ids.slice(-Math.floor(this.length / 2))
        this.reset()
        young.forEach((one) => this.read(one))
      }
      const {w, heads, kept} = this, at = this.ids.push(id) - 1, K = this.width / heads, attention = []
      let h = embed(w, id)
      this.blocks.forEach((block, l) => {
        h = this.around(h, block.norms[0], (x) => {
          const {y, weights} = selfAttention(block.self_attention, x, kept[l], heads, (z) => rotary(z, at, K))
          attention.push(weights)
          return y
        })
        h = this.around(h, block.norms[1], (x) => feedForward(block.feed_forward, x, this.activate))
      })
      if (w.stack.norm) h = layerNorm(h, w.stack.norm)
      return {logits: affine(w.readout.weight, h, w.readout.bias), attention}
    }
  }

  // rtx_lib.models.transformer_xl.TransformerXL with its own positions. Its memory holds what each layer read; as
  // positions are distances, the keys and values made of it stay the same, and are kept in its place.
  class CharXL {
    // segment: how many characters it reads between two moves of its memory. The first of a segment sees `memory`
    // characters before it, the second one more, and so on.
    constructor(weights, {memory, segment = 1, norm: place = 'post'}) {
      const w = this.w = tree(weights)
      this.blocks = Object.values(w.blocks)
      this.width = w.embedding.weight.c
      this.heads = this.blocks[0].attention.u.r
      Object.assign(this, {memory, segment, around: place === 'pre' ? before : behind, ways: []})
      this.reset()
    }
    reset() {
      this.at = 0
      this.kept = this.blocks.map(() => ({k: [], v: []}))
    }
    // W_kR R_d of every layer, made when the distance d is first met: R has all sines first
    way(d) {
      for (let far = this.ways.length; far <= d; far++) {
        const angle = (j) => far * 10000 ** -(2 * j / this.width), half = this.width / 2
        const r = Float64Array.from({length: this.width}, (_, j) => j < half ? Math.sin(angle(j)) : Math.cos(angle(j - half)))
        this.ways.push(this.blocks.map(({attention}) => affine(attention.r_proj_weight, r)))
      }
      return this.ways[d]
    }
    // As of CharGPT
    read(id) {
      const {w, heads, kept, memory, segment} = this, attention = []
      const S = Math.min(this.at + 1, memory + this.at % segment + 1)
      let h = embed(w, id)
      this.blocks.forEach((block, l) => {
        h = this.around(h, block.norms[0], (x) => {
          const a = block.attention, inner = heads * a.u.c, K = a.u.c, qkv = affine(a.in_proj_weight, x), own = kept[l]
          const q = qkv.subarray(0, inner), u = add(q, a.u.v), v = add(q, a.v.v)
          own.k.push(qkv.slice(inner, 2 * inner))
          own.v.push(qkv.slice(2 * inner))
          if (own.k.length > memory + segment) { own.k.shift(); own.v.shift() }
          const k = own.k.slice(-S)
          this.way(S - 1)
          const score = (s, head) => {
            const key = k[s], r = this.ways[S - 1 - s][l]
            let sum = 0
            for (let j = head * K; j < head * K + K; j++) sum += u[j] * key[j] + v[j] * r[j]
            return sum / Math.sqrt(K)
          }
          const {y, weights} = attend(heads, S, score, own.v.slice(-S), inner)
          attention.push(weights)
          return affine(a.out_proj.weight, y)
        })
        h = this.around(h, block.norms[1], (x) => feedForward(block.feed_forward, x, ACTIVATIONS.relu))
      })
      this.at++
      return {logits: affine(w.readout.weight, h, w.readout.bias), attention}
    }
  }
  const layers = {selfAttention, everyAttention, rotary, feedForward, before, behind, layerNorm}  // what other models are made of as well
  Object.assign(RTX, {CharGPT, CharXL, layers, gelu: ACTIVATIONS.gelu})
})
