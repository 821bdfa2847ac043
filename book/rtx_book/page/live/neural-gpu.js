// A Neural GPU, rtx_lib.models.NeuralGPU, on one sequence without padding: an image of n places, w columns and m
// channels that the same gated convolutions change n times.
RTX.part('neural-gpu', (RTX) => {
  const {affine, row, tree, gemm, sigmoid, tanh} = RTX
  const cut = (a) => Math.min(1, Math.max(0, 1.2 * sigmoid(a) - 0.1))

  // A convolution's kernels (out, in, k, k) as a matrix (k k in, out): what gemm wants of its right side
  function turned({weight, bias}) {
    const size = weight.c, outs = bias.v.length, ins = weight.v.length / outs, v = new Float64Array(weight.v.length)
    for (let o = 0; o < outs; o++) for (let i = 0; i < ins; i++) v[i * outs + o] = weight.v[o * ins + i]
    return {v, bias: bias.v, size, ins, outs}
  }
  // The neighbours of each cell in a row, in the order of the kernels (channel, place, column): zeros beyond the edges
  function patches(s, n, w, m, size) {
    const half = (size - 1) / 2, area = size * size, out = new Float64Array(n * w * m * area)
    for (let i = 0, p = 0; i < n; i++) for (let j = 0; j < w; j++, p += m * area) {
      for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) {
        const a = i + y - half, b = j + x - half
        if (a < 0 || a >= n || b < 0 || b >= w) continue
        for (let c = 0, q = (a * w + b) * m; c < m; c++, q++) out[p + area * c + size * y + x] = s[q]
      }
    }
    return out
  }
  function convolve(s, n, w, m, {v, bias, size, ins, outs}) {
    const y = new Float64Array(n * w * outs)
    for (let i = 0; i < y.length; i++) y[i] = bias[i % outs]
    gemm(y, patches(s, n, w, m, size), v, n * w, ins, outs)
    return y
  }

  class NeuralGPU {
    constructor(weights, {width = 4} = {}) {
      const {embedding, input, readout, cgrus} = tree(weights)
      Object.assign(this, {width, channels: embedding.weight.c, embedding: embedding.weight, input, readout})
      this.cgrus = Object.values(cgrus).map(({gates, candidate}) => ({gates: turned(gates), candidate: turned(candidate)}))
    }
    // u s + (1 - u) tanh(conv(r s)), where u and r stand side by side in the gates of a cell
    step(s, n, {gates, candidate}) {
      const {width: w, channels: m} = this, g = convolve(s, n, w, m, gates), u = (i) => 2 * i - i % m
      const c = convolve(s.map((old, i) => cut(g[u(i) + m] + 1) * old), n, w, m, candidate)
      return s.map((old, i) => {
        const keep = cut(g[u(i)] + 1)
        return keep * old + (1 - keep) * tanh(c[i])
      })
    }
    // The symbols lie in the first column of the image, all other cells are 0
    first(ids) {
      const {width: w, channels: m} = this, s = new Float64Array(ids.length * w * m)
      ids.forEach((id, i) => s.set(affine(this.input.weight, row(this.embedding, id).map(tanh), this.input.bias), i * w * m))
      return s
    }
    // What would be answered at each place: from the first column of the image
    read(s) {
      const {width: w, channels: m, readout} = this
      return Array.from({length: s.length / (w * m)}, (_, i) =>
        affine(readout.weight, s.subarray(i * w * m, i * w * m + m), readout.bias))
    }
    // Before the first of n steps and after each: the image (n, w, m) and the logits of each place
    run(ids) {
      const images = [this.first(ids)]
      for (let t = 0; t < ids.length; t++)
        images.push(this.cgrus.reduce((s, cgru) => this.step(s, ids.length, cgru), images[t]))
      return images.map((image) => ({image, logits: this.read(image)}))
    }
  }
  Object.assign(RTX, {NeuralGPU})
})
