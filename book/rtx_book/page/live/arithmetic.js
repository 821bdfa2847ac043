// What a trained model needs to be read, one step at a time: plain functions of vectors (Float64Array) and matrices.
RTX.part('arithmetic', (RTX) => {
  // W x + b; b (1, rows) may be missing
  function affine(W, x, b) {
    const w = W.v, k = W.c, y = new Float64Array(W.r)
    if (x.length !== k) throw new Error(`affine: W has ${k} columns, x has ${x.length} entries`)
    for (let i = 0, p = 0; i < W.r; i++) {
      let s = b ? b.v[i] : 0
      for (let j = 0; j < k; j++, p++) s += w[p] * x[j]
      y[i] = s
    }
    return y
  }
  // Row i of W, in W's own memory
  const row = (W, i) => {
    if (!(i >= 0 && i < W.r)) throw new Error(`row: ${i} is no row of a matrix of ${W.r}`)
    return W.v.subarray(i * W.c, (i + 1) * W.c)
  }
  // Probabilities; a temperature below 1 sharpens them
  function softmax(x, temperature = 1) {
    const y = new Float64Array(x.length)
    let top = -Infinity, sum = 0
    for (let i = 0; i < x.length; i++) if (x[i] > top) top = x[i]
    for (let i = 0; i < x.length; i++) sum += y[i] = Math.exp((x[i] - top) / temperature)
    for (let i = 0; i < x.length; i++) y[i] /= sum
    return y
  }
  // Layer normalisation by w = {weight, bias}, torch's
  function norm(x, w, eps = 1e-5) {
    const n = x.length, y = new Float64Array(n)
    let mean = 0, variance = 0
    for (let i = 0; i < n; i++) mean += x[i] / n
    for (let i = 0; i < n; i++) variance += (x[i] - mean) ** 2 / n
    const scale = 1 / Math.sqrt(variance + eps)
    for (let i = 0; i < n; i++) y[i] = w.weight.v[i] * (x[i] - mean) * scale + w.bias.v[i]
    return y
  }
  // {'blocks.0.norms.1.weight': m} -> {blocks: {0: {norms: {1: {weight: m}}}}}
  function tree(flat) {
    const out = {}
    for (const [name, value] of Object.entries(flat)) {
      const keys = name.split('.'), last = keys.pop()
      let at = out
      for (const key of keys) at = at[key] ||= {}
      at[last] = value
    }
    return out
  }
  Object.assign(RTX, {affine, row, softmax, norm, tree})
})
