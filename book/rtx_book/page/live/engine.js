// Matrices, a tape that differentiates, and Adam. No DOM: it also runs in a worker.
// All numbers are float64: through 200 steps of a tanh RNN a gradient falls to 1e-35 of its size, and less; float32
// would show zeros.
RTX.part('engine', (RTX) => {
  const {exp, sqrt} = Math

  // r rows, c columns, row by row in v; g is the gradient of a loss with respect to v, where there is one
  class Matrix {
    constructor(r, c, v = new Float64Array(r * c)) {
      this.r = r
      this.c = c
      this.v = v
      this.g = null
      this.parts = null  // what Tape.rows has cut out of it
    }
  }
  const matrix = (r, c, v) => new Matrix(r, c, v)
  const parameter = (r, c) => {
    const m = new Matrix(r, c)
    m.g = new Float64Array(r * c)
    return m
  }

  // C (n, m) += A B with A (n, k) and B (k, m). Entry (i, p) of A lies at i ar + p ac, so that A may be a transpose.
  // Blocks of 2 x 4: their eight sums stay in registers.
  function gemm(C, A, B, n, k, m, ar = k, ac = 1) {
    let i = 0
    for (; i + 1 < n; i += 2) {
      let j = 0
      for (; j + 3 < m; j += 4) {
        let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0
        for (let l = 0, p = i * ar, r = p + ar, q = j; l < k; l++, p += ac, r += ac, q += m) {
          const t = A[p], u = A[r], w = B[q], x = B[q + 1], y = B[q + 2], z = B[q + 3]
          a += t * w; b += t * x; c += t * y; d += t * z
          e += u * w; f += u * x; g += u * y; h += u * z
        }
        const y = i * m + j, z = y + m
        C[y] += a; C[y + 1] += b; C[y + 2] += c; C[y + 3] += d
        C[z] += e; C[z + 1] += f; C[z + 2] += g; C[z + 3] += h
      }
      for (; j < m; j++) {
        entry(C, A, B, i, j, k, m, ar, ac)
        entry(C, A, B, i + 1, j, k, m, ar, ac)
      }
    }
    for (; i < n; i++) for (let j = 0; j < m; j++) entry(C, A, B, i, j, k, m, ar, ac)
  }
  function entry(C, A, B, i, j, k, m, ar, ac) {
    let s = 0
    for (let l = 0; l < k; l++) s += A[i * ar + l * ac] * B[l * m + j]
    C[i * m + j] += s
  }

  const sigmoid = (x) => 1 / (1 + exp(-x))
  const tanh = (x) => 1 - 2 / (exp(2 * x) + 1)

  // Every operation computes and notes its way back. Between two calls of `start`, matrices are handed out in order;
  // the next run asks for the same sizes in the same order and gets the same ones again, so that training makes no
  // garbage to speak of.
  class Tape {
    constructor() {
      this.pool = []
      this.used = 0
      this.ways = []
      this.recording = true
      this.turned = new Map()
    }
    start(recording = true) {
      this.used = 0
      this.ways.length = 0
      this.turned.clear()
      this.recording = recording
    }
    // A matrix of zeros with a gradient of zeros
    take(r, c) {
      let m = this.pool[this.used]
      if (m && m.r === r && m.c === c) {
        m.v.fill(0)
        m.g.fill(0)
      } else {
        m = this.pool[this.used] = parameter(r, c)
      }
      this.used++
      return m
    }
    way(back) { if (this.recording) this.ways.push(back) }
    backward() { for (let i = this.ways.length - 1; i >= 0; i--) this.ways[i]() }

    // W^T, made once a run
    turn(W) {
      let t = this.turned.get(W)
      if (t) return t
      t = this.take(W.c, W.r)
      for (let i = 0, m = 0; i < W.r; i++) for (let j = 0; j < W.c; j++, m++) t.v[j * W.r + i] = W.v[m]
      this.turned.set(W, t)
      return t
    }
    // x W^T + b for x (n, k), W (o, k), b (1, o) or null. With `onto` (n, o), which nobody else may read: onto + x W^T,
    // in its place.
    linear(x, W, b, onto) {
      const n = x.r, k = x.c, o = W.r, y = onto || this.take(n, o), Y = y.v
      if (b) for (let i = 0, m = 0; i < n; i++) for (let j = 0; j < o; j++, m++) Y[m] += b.v[j]
      gemm(Y, x.v, this.turn(W).v, n, k, o)
      this.way(() => {
        const G = y.g
        if (x.g) gemm(x.g, G, W.v, n, o, k)
        if (W.g) gemm(W.g, G, x.v, o, n, k, 1, o)
        if (b && b.g) for (let i = 0, m = 0; i < n; i++) for (let j = 0; j < o; j++, m++) b.g[j] += G[m]
      })
      return y
    }
    // Rows from..to of x, in x's own memory; cut once
    rows(x, from, to) {
      x.parts ||= new Map()
      const known = x.parts.get(from)
      if (known && known.r === to - from) return known
      const at = from * x.c, end = to * x.c, y = new Matrix(to - from, x.c, x.v.subarray(at, end))
      if (x.g) y.g = x.g.subarray(at, end)
      x.parts.set(from, y)
      return y
    }
    tanh(x) {
      const y = this.take(x.r, x.c), Y = y.v, X = x.v
      for (let m = 0; m < Y.length; m++) Y[m] = 1 - 2 / (exp(2 * X[m]) + 1)
      this.way(() => {
        const G = x.g, H = y.g
        for (let m = 0; m < Y.length; m++) G[m] += H[m] * (1 - Y[m] * Y[m])
      })
      return y
    }
    relu(x) {
      const y = this.take(x.r, x.c), Y = y.v, X = x.v
      for (let m = 0; m < Y.length; m++) Y[m] = X[m] > 0 ? X[m] : 0
      this.way(() => {
        const G = x.g, H = y.g
        for (let m = 0; m < Y.length; m++) if (Y[m] > 0) G[m] += H[m]
      })
      return y
    }
    // a + b, of one shape
    plus(a, b) {
      const y = this.take(a.r, a.c), n = y.v.length
      for (let m = 0; m < n; m++) y.v[m] = a.v[m] + b.v[m]
      this.way(() => {
        for (let m = 0; m < n; m++) {
          a.g[m] += y.g[m]
          b.g[m] += y.g[m]
        }
      })
      return y
    }
    // The mean squared error, at which the way back starts
    squaredError(y, target) {
      const n = y.v.length
      let sum = 0
      for (let m = 0; m < n; m++) sum += (y.v[m] - target[m]) ** 2
      this.way(() => { for (let m = 0; m < n; m++) y.g[m] += 2 * (y.v[m] - target[m]) / n })
      return sum / n
    }
  }

  // Adam (Kingma and Ba 2015) with torch's defaults. `factors`: what each parameter's rate is multiplied by.
  class Adam {
    constructor(parameters, factors = parameters.map(() => 1)) {
      this.parameters = parameters
      this.factors = factors
      this.t = 0
      this.means = parameters.map((p) => new Float64Array(p.v.length))
      this.squares = parameters.map((p) => new Float64Array(p.v.length))
    }
    zero() { for (const p of this.parameters) p.g.fill(0) }
    norm() {
      let sum = 0
      for (const {g} of this.parameters) for (let i = 0; i < g.length; i++) sum += g[i] * g[i]
      return sqrt(sum)
    }
    // One step; a gradient whose norm over all parameters exceeds `clip` is scaled down to it first (0: never).
    // Returns the norm that it had.
    step(rate, clip) {
      const norm = this.norm(), scale = clip && norm > clip ? clip / norm : 1
      const first = 0.9, second = 0.999, near = 1 - first ** ++this.t, far = sqrt(1 - second ** this.t)
      this.parameters.forEach((p, k) => {
        const mean = this.means[k], square = this.squares[k], size = rate * this.factors[k] / near
        for (let i = 0; i < mean.length; i++) {
          const g = p.g[i] * scale
          mean[i] += (1 - first) * (g - mean[i])
          square[i] = second * square[i] + (1 - second) * g * g
          p.v[i] -= size * mean[i] / (sqrt(square[i]) / far + 1e-8)
        }
      })
      return norm
    }
  }

  Object.assign(RTX, {Matrix, matrix, parameter, gemm, sigmoid, tanh, Tape, Adam})
})
