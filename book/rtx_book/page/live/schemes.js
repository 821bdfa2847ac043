// rtx_lib.models.CausalTransformer (pre-norm, GELU), trained, with any scheme of positions of rtx_lib.layers.positions.
RTX.part('schemes', (RTX) => {
  const {gemm, gelu, softmax, tree} = RTX

  // x W^T + b for T rows of x
  function linear(x, T, W, b) {
    const y = new Float64Array(T * W.r)
    if (b) for (let t = 0; t < T; t++) y.set(b.v, t * W.r)
    if (!W.turned) {
      W.turned = new Float64Array(W.r * W.c)
      for (let i = 0, m = 0; i < W.r; i++) for (let j = 0; j < W.c; j++, m++) W.turned[j * W.r + i] = W.v[m]
    }
    gemm(y, x, W.turned, T, W.c, W.r)
    return y
  }
  const rows = (x, width, f) => {
    const y = new Float64Array(x.length)
    for (let at = 0; at < x.length; at += width) y.set(f(x.subarray(at, at + width)), at)
    return y
  }
  const norm = (x, width, w) => rows(x, width, (one) => RTX.norm(one, w))
  const add = (x, y) => x.map((value, i) => value + y[i])
  // Sines and cosines of p w_i: in turns, or all sines first
  function wave(p, width, halves = false) {
    const out = new Float64Array(width)
    for (let i = 0; i < width / 2; i++) {
      const angle = p * 10000 ** (-2 * i / width)
      out[halves ? i : 2 * i] = Math.sin(angle)
      out[halves ? width / 2 + i : 2 * i + 1] = Math.cos(angle)
    }
    return out
  }
  const turned = (x, D, K) => {
    let t = 0
    return rows(x, D, (one) => RTX.layers.rotary(one, t++, K))
  }

  class SchemeTransformer {
    // weights: {name: Matrix} with torch's names; positions: one of SCHEMES
    constructor(weights, {positions, heads = 4}) {
      this.w = tree(weights)
      Object.assign(this, {positions, heads, width: this.w.embedding.weight.c})
      this.blocks = Object.keys(this.w.stack.blocks).length
      this.slopes = Array.from({length: heads}, (_, h) => 2 ** (-8 * (h + 1) / heads))  // for a power of two
    }
    // What a scheme says of a key d steps back: a function of the head, its query (at `at` of q) and its key, or null
    told(l, q, k, T) {
      const {width: D, heads: H} = this, K = D / H, own = this.w.stack.blocks[l].self_attention.positions
      const scale = 1 / Math.sqrt(K), products = (a, at, b, from) => {
        let sum = 0
        for (let j = 0; j < K; j++) sum += a[at + j] * b[from + j]
        return sum * scale
      }
      if (this.positions === 'alibi') return (h, i, j) => -this.slopes[h] * (i - j)
      if (this.positions === 'shaw') {
        const clip = (own.keys.r - 1) / 2, table = own.keys.v
        return (h, i, j) => products(q, i * D + h * K, table, (clip - Math.min(clip, i - j)) * K)
      }
      if (this.positions === 'xl') {
        const ways = new Float64Array(T * D), u = own.u.v, v = own.v.v, moved = new Float64Array(T * D)
        for (let d = 0; d < T; d++) ways.set(wave(d, D, true), d * D)
        const r = linear(ways, T, own.r_proj_weight)
        for (let i = 0; i < moved.length; i++) moved[i] = q[i] + v[i % D]
        return (h, i, j) => products(u, h * K, k, j * D + h * K) + products(moved, i * D + h * K, r, (i - j) * D + h * K)
      }
      return null
    }
    // Causal attention of block l on x (T, D); a key `window` or more steps back is hidden. Weights go to `looks`.
    attend(l, x, T, window, looks) {
      const {width: D, heads: H} = this, K = D / H, w = this.w.stack.blocks[l].self_attention, scale = 1 / Math.sqrt(K)
      const three = linear(x, T, w.in_proj_weight, w.in_proj_bias), part = (n) => {
        const out = new Float64Array(T * D)
        for (let t = 0; t < T; t++) out.set(three.subarray((3 * t + n) * D, (3 * t + n + 1) * D), t * D)
        return out
      }
      let q = part(0), k = part(1)
      const v = part(2), y = new Float64Array(T * D)
      if (this.positions === 'rotary') [q, k] = [turned(q, D, K), turned(k, D, K)]
      const bias = this.told(l, q, k, T), values = this.positions === 'shaw' ? w.positions.values : null
      for (let h = 0; h < H; h++) {
        for (let i = 0; i < T; i++) {
          const from = Math.max(0, i - window + 1), scores = new Float64Array(i + 1 - from)
          for (let j = from; j <= i; j++) {
            let sum = 0
            for (let n = 0, a = i * D + h * K, b = j * D + h * K; n < K; n++) sum += q[a + n] * k[b + n]
            scores[j - from] = sum * scale + (bias ? bias(h, i, j) : 0)
          }
          const a = softmax(scores), at = i * D + h * K
          for (let j = from; j <= i; j++) {
            const share = a[j - from]
            for (let n = 0; n < K; n++) y[at + n] += share * v[j * D + h * K + n]
            if (!values) continue
            const clip = (values.r - 1) / 2, row = (clip - Math.min(clip, i - j)) * K
            for (let n = 0; n < K; n++) y[at + n] += share * values.v[row + n]
          }
          looks[h].push({from, a})
        }
      }
      return linear(y, T, w.out_proj.weight, w.out_proj.bias)
    }
    // Reads ids, stops after each block so that a page can breathe, and returns {logits (T x V), V, looks}.
    // looks[block][head][i] = {from, a}: the weights of query i on the keys from, from + 1, ..., i.
    // first: the position of the first symbol, which absolute schemes count from.
    *slowly(ids, {first = 0, window = Infinity} = {}) {
      const {w, width: D} = this, T = ids.length, looks = []
      let x = new Float64Array(T * D)
      ids.forEach((id, t) => {
        const place = this.positions === 'sinusoidal' ? wave(first + t, D)
          : this.positions === 'learned' ? RTX.row(w.stack.positions.weight, first + t) : null
        const own = RTX.row(w.embedding.weight, id)
        for (let j = 0; j < D; j++) x[t * D + j] = Math.sqrt(D) * own[j] + (place ? place[j] : 0)
      })
      for (let l = 0; l < this.blocks; l++) {
        const {norms, feed_forward: f} = w.stack.blocks[l]
        looks.push(Array.from({length: this.heads}, () => []))
        x = add(x, this.attend(l, norm(x, D, norms[0]), T, window, looks[l]))
        yield
        const inner = linear(norm(x, D, norms[1]), T, f.linear1.weight, f.linear1.bias)
        for (let i = 0; i < inner.length; i++) inner[i] = gelu(inner[i])
        x = add(x, linear(inner, T, f.linear2.weight, f.linear2.bias))
        yield
      }
      const logits = linear(norm(x, D, w.stack.norm), T, w.readout.weight, w.readout.bias)
      return {logits, V: w.readout.weight.r, looks}
    }
    read(ids, options) {
      const steps = this.slowly(ids, options)
      for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value
    }
  }
  const SCHEMES = ['none', 'sinusoidal', 'learned', 'shaw', 'xl', 'rotary', 'alibi']
  Object.assign(RTX, {SchemeTransformer, SCHEMES})
})
