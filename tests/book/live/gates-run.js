({weights, xs, hands}) => {
  const steps = RTX.gated(matrices(weights), xs.map((x) => Float64Array.from(x)), hands)
  const all = (name) => steps.flatMap((step) => [...step[name]])
  const H = steps[0].h.length, {blocks, memory} = RTX.GATED[RTX.kindOf(matrices(weights))]
  const sums = steps.flatMap((_, t) => Array.from({length: H}, (_, j) =>
    steps.slice(0, t + 1).reduce((sum, _, s) => sum + RTX.worth(steps, s, t, j), 0)))
  const left = steps.flatMap((_, s) => Array.from({length: H}, (_, j) => RTX.left(steps, s, steps.length - 1, j)))
  return {...Object.fromEntries([...blocks, 'h', memory].map((name) => [name, all(name)])), sums, left}
}
