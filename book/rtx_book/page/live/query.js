// One query against the keys of some words, as one does it by hand: scores, powers of e, weights, and the answer.
RTX.part('query', (RTX) => {
  const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0)
  // M: rows. x: a vector
  const mapped = (M, x) => M.map((row) => dot(row, x))

  // q: (K); keys: (S, K); values: (S, D). Scores are divided by `scale`; words from `seen` on are hidden.
  function asked(q, keys, values, {scale = 1, seen = keys.length} = {}) {
    const scores = keys.map((k) => dot(q, k) / scale)
    const powers = scores.map((e, j) => j < seen ? Math.exp(e) : 0)
    const sum = powers.reduce((all, p) => all + p, 0), weights = powers.map((p) => p / sum)
    return {scores, powers, sum, weights, y: values[0].map((_, i) => dot(weights, values.map((v) => v[i])))}
  }
  Object.assign(RTX, {mapped, asked})
})
