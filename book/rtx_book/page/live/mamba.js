// Mamba's block, one step at a time (rtx_lib.models.mamba; b = delta B, as the authors' code has it). The input chooses
// how much time a step takes, delta, what it writes, B, and what is read, C; in TimeInvariantMamba they are weights.
RTX.part('mamba', (RTX) => {
  const {affine, sigmoid} = RTX
  const silu = (v) => v * sigmoid(v)
  const softplus = (v) => v > 20 ? v : Math.log1p(Math.exp(v))

  class Mamba {
    constructor(w) {
      this.w = w
      this.A = w.A_log.v.map((v) => -Math.exp(v))  // (E, N)
      this.reset()
    }
    reset() {
      const {A_log: {r: E, c: N}, conv} = this.w
      this.h = new Float64Array(E * N)
      this.reach = conv?.weight.c ?? 1  // the places that a step sees
      this.past = Array.from({length: this.reach - 1}, () => new Float64Array(E))
    }
    // delta (E), B and C: (N), or (E, N) where they are weights
    selected(u) {
      const {x_proj, dt_proj, dt_bias, A_log: {c: N}, B, C} = this.w
      if (dt_bias) return {delta: dt_bias.v.map(softplus), B: B.v, C: C.v}
      const all = affine(x_proj.weight, u), rank = all.length - 2 * N
      const delta = affine(dt_proj.weight, all.subarray(0, rank), dt_proj.bias).map(softplus)
      return {delta, B: all.subarray(rank, rank + N), C: all.subarray(rank + N)}
    }
    read(x) {
      const {w: {A_log: {r: E, c: N}, in_proj, conv, D, out_proj}, A, h, reach: k} = this
      const both = affine(in_proj.weight, x), z = both.subarray(E), seen = [...this.past, both.subarray(0, E)]
      this.past = seen.slice(1)
      const convolved = (bias, e) => seen.reduce((sum, v, j) => sum + conv.weight.v[e * k + j] * v[e], bias)
      const u = (conv ? conv.bias.v.map(convolved) : seen[0]).map(silu)
      const {delta, B, C} = this.selected(u), own = B.length > N
      const y = u.map((v, e) => {
        let sum = D.v[e] * v
        for (let n = 0, i = e * N; n < N; n++, i++) {
          h[i] = Math.exp(delta[e] * A[i]) * h[i] + delta[e] * B[own ? i : n] * v
          sum += C[own ? i : n] * h[i]
        }
        return sum * silu(z[e])
      })
      return {y: affine(out_proj.weight, y), layers: [{delta}]}
    }
  }
  RTX.Mamba = Mamba
})
