// A softmax over scores of dot products of a width, with the scale and without it, and how much gradient it passes.
RTX.part('scores', (RTX) => {
  // scores: as they are at width 1. The weights, and the Frobenius norm of their Jacobian diag(a) - a a^T.
  function weigh(scores, {width = 1, scaled = true, temperature = 1} = {}) {
    const factor = (scaled ? 1 : Math.sqrt(width)) / temperature
    const weights = RTX.softmax(Float64Array.from(scores, (score) => factor * score))
    let squares = 0, cubes = 0
    for (const a of weights) { squares += a ** 2; cubes += a ** 3 }
    // The sum of squares and cubes cancels where one weight is near 1: there each entry is summed by itself.
    const exact = () => Math.hypot(...[...weights].flatMap((a, i) => [...weights].map((b, j) =>
      i === j ? a * others(weights, i) : a * b)))
    const passes = squares - 2 * cubes + squares ** 2
    return {weights, factor, passes: passes > 1e-6 ? Math.sqrt(passes) : exact()}
  }
  // 1 - a_i, without losing what is left of it
  const others = (weights, i) => weights.reduce((sum, a, j) => j === i ? sum : sum + a, 0)
  RTX.weigh = weigh
})
