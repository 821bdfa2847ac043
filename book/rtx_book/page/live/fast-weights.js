// Linear attention and DeltaNet, one step at a time (rtx_lib.models.delta_net, without decay or a convolution of its own):
// the state is a matrix S for each head, and what was handed out as the state never changes.
RTX.part('fast-weights', (RTX) => {
  const {affine, sigmoid} = RTX
  const phi = (x) => x > 0 ? x + 1 : Math.exp(x)

  class FastWeights {
    constructor(w, {heads = w.beta?.weight.r ?? 1, largestBeta = 1}) {
      const D = w.out.weight.r
      if (w.conv || w.step) throw new Error('fast-weights: a DeltaNet with a convolution or a decay is not known here')
      Object.assign(this, {w, heads, largestBeta, D, K: D / heads})
      this.reset()
    }
    // S (H, K, K), and of linear attention the sums z (H, K)
    reset() { this.state = {S: new Float64Array(this.D * this.K), ...(this.w.beta ? {} : {z: new Float64Array(this.D)})} }
    read(x) {
      const {w, D} = this, qkv = affine(w.qkv.weight, x), [q, k, v] = [0, D, 2 * D].map((from) => qkv.subarray(from, from + D))
      const y = new Float64Array(D), S = this.state.S.slice()
      if (w.beta) {
        this.replace(q, k, v, affine(w.beta.weight, x).map((b) => this.largestBeta * sigmoid(b)), S, y)
        this.state = {S}
      } else this.state = {S, z: this.sum(q.map(phi), k.map(phi), v, S, y)}
      return {y: affine(w.out.weight, y), layers: [{}]}
    }
    // S += k v^T, z += k, y = S^T q / (z . q)
    sum(q, k, v, S, y) {
      const {heads, K} = this, z = this.state.z.map((sum, j) => sum + k[j])
      for (let h = 0; h < heads; h++) {
        const at = h * K
        let all = 1e-6
        for (let i = 0; i < K; i++) {
          const row = (at + i) * K
          all += z[at + i] * q[at + i]
          for (let j = 0; j < K; j++) y[at + j] += q[at + i] * (S[row + j] += k[at + i] * v[at + j])
        }
        for (let j = 0; j < K; j++) y[at + j] /= all
      }
      return z
    }
    // S += beta k (v - S^T k)^T, y = norm(S^T q / sqrt(K)), with q and k divided by their lengths
    replace(q, k, v, beta, S, y) {
      const {heads, K, w: {norm}} = this
      for (let h = 0; h < heads; h++) {
        const at = h * K, size = (u) => Math.max(1e-6, Math.hypot(...u.subarray(at, at + K)))
        const ownK = size(k), ownQ = size(q) * Math.sqrt(K), held = new Float64Array(K)
        for (let i = 0; i < K; i++) for (let j = 0; j < K; j++) held[j] += S[(at + i) * K + j] * k[at + i] / ownK
        for (let i = 0; i < K; i++) for (let j = 0; j < K; j++) {
          S[(at + i) * K + j] += beta[h] * k[at + i] / ownK * (v[at + j] - held[j])
          y[at + j] += S[(at + i) * K + j] * q[at + i] / ownQ
        }
        let square = 0
        for (let j = 0; j < K; j++) square += y[at + j] ** 2 / K
        for (let j = 0; j < K; j++) y[at + j] *= norm.weight.v[j] / Math.sqrt(square + 1e-5)
      }
    }
  }
  RTX.FastWeights = FastWeights
})
