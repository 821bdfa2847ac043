// What goes on with a series: seasonal naive (rtx_lib.tasks.naive), and NLinear and Patched, trained in advance
// (rtx_lib.models.ltsf and patch_tst). Of every value to come each says the quantiles 0.1, 0.5 and 0.9.
RTX.part('forecast', (RTX) => {
  const {affine, row, tree, gelu, Recurrent} = RTX, {everyAttention, feedForward, before, behind, layerNorm} = RTX.layers
  const SHARE = 0.8, EPS = 1e-5
  const add = (x, y) => x.map((v, i) => v + y[i])
  const mean = (x) => x.reduce((sum, v) => sum + v, 0) / x.length
  const softplus = (v) => v > 20 ? v : Math.log1p(Math.exp(v))

  // ---- the series by itself
  // What is left beside its best parabola, by least squares
  function withoutTrend(x) {
    const at = x.map((_, t) => 2 * t / (x.length - 1) - 1), square = mean(at.map((t) => t * t))
    const parts = [at.map(() => 1), at, at.map((t) => t * t - square)]  // each orthogonal to the others
    const shares = parts.map((part) => mean(part.map((p, t) => p * x[t])) / mean(part.map((p) => p * p)))
    return x.map((v, t) => v - shares.reduce((sum, share, k) => sum + share * parts[k][t], 0))
  }
  // The correlation with itself, 0 to `most` steps earlier; the sum below the line is that of lag 0
  function autocorrelation(x, most) {
    const middle = mean(x), c = x.map((v) => v - middle)
    const sum = (k) => c.reduce((s, v, t) => s + v * (c[t + k] ?? 0), 0), whole = Math.max(sum(0), 1e-300)
    return Array.from({length: most + 1}, (_, k) => sum(k) / whole)
  }
  // After how many steps x is most like itself again, at most a third of it; 1 if it has no season
  function seasonOf(x) {
    const most = Math.floor(x.length / 3), r = autocorrelation(withoutTrend(x), most), peaks = []
    const least = Math.sqrt(2 * Math.log(20 * most) / x.length)  // of noise
    for (let k = 1; k < most; k++) if (r[k] > r[k - 1] && r[k] >= r[k + 1] && r[k] > least) peaks.push(k)
    const top = Math.max(...peaks.map((k) => r[k]))
    return peaks.find((k) => r[k] > 0.9 * top) ?? 1
  }
  // The last season again and again. How wide: as many seasons back, in the window, 8 of 10 values were no farther off.
  function seasonal(x, horizon, season) {
    const n = x.length, wide = []
    const reach = (lag) => wide[lag] ??= Array.from({length: n - lag}, (_, t) => Math.abs(x[t + lag] - x[t]))
      .sort((a, b) => a - b)[Math.ceil(SHARE * (n - lag)) - 1]
    return Array.from({length: horizon}, (_, h) => {
      const v = x[n - season + h % season], w = reach(season * (Math.floor(h / season) + 1))
      return [v - w, v, v + w]
    })
  }

  // ---- trained
  // rtx_lib.layers.forecast: of three numbers the first is the lowest quantile, the others are steps up from it
  const quantiles = (y, level, scale) => Array.from({length: y.length / 3}, (_, h) => {
    const low = y[3 * h], middle = low + softplus(y[3 * h + 1])
    return [low, middle, middle + softplus(y[3 * h + 2])].map((q) => q * scale + level)
  })
  // What norm takes out of a window
  function taken(x, norm) {
    if (norm !== 'instance') return {level: norm === 'last' ? x[x.length - 1] : 0, scale: 1}
    const level = mean(x)
    return {level, scale: Math.sqrt(mean(x.map((v) => (v - level) ** 2)) + EPS)}
  }
  // rtx_lib.models.transformer.Encoder with learned positions, of vectors that stand beside each other
  function encode({embedding, stack: {positions, blocks, norm}}, patches, heads) {
    const around = norm ? before : behind  // with its norms in front a stack ends in one more
    let h = patches.map((p, t) => add(affine(embedding.weight, p, embedding.bias), row(positions.weight, t)))
    for (const {self_attention: own, feed_forward: forward, norms} of Object.values(blocks)) {
      const all = everyAttention(own, norm ? h.map((x) => layerNorm(x, norms[0])) : h, heads)
      h = h.map((x, t) => around(x, norms[0], () => all[t])).map((x) => around(x, norms[1], (z) => feedForward(forward, z, gelu)))
    }
    return norm ? h.map((x) => layerNorm(x, norm)) : h
  }
  // NLinear, or Patched around a GRU or an encoder, by its weights. norm: 'last', 'instance' or none; patches lie side
  // by side and fill the window; heads, of an encoder.
  function forecaster(weights, {norm = 'last', heads = 1} = {}) {
    const w = tree(weights), map = w.linear?.maps[0] ?? w.readout
    const {c: size} = (w.embedding ?? w.core?.embedding)?.weight ?? weights['core.weight_ih_l0'] ?? {}  // of a patch
    const core = weights['core.weight_hh_l0'] && new Recurrent(weights, {prefix: 'core.'})
    const run = (patches) => {
      if (!core) return encode(w.core, patches, heads)
      core.reset()
      return patches.map((p) => core.read(w.embedding ? affine(w.embedding.weight, p, w.embedding.bias) : p).h)
    }
    return (x) => {
      const {level, scale} = taken(x, norm), own = Float64Array.from(x, (v) => (v - level) / scale)
      if (!w.core) return quantiles(affine(map.weight, own, map.bias), level, scale)
      const h = run(Array.from({length: x.length / size}, (_, k) => own.subarray(k * size, (k + 1) * size)))
      const last = h[h.length - 1], flat = map.weight.c > last.length ? Float64Array.from(h.flatMap((v) => [...v])) : last
      return quantiles(affine(map.weight, flat, map.bias), level, scale)
    }
  }
  Object.assign(RTX, {autocorrelation, withoutTrend, seasonOf, seasonal, forecaster})
})
