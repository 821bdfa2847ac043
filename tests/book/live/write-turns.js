// Models that read in turns: their runs, and how many turns there were.
({weights, settings, ids}) => {
  const models = Object.fromEntries(Object.entries(weights).map(([name, own]) =>
    [name, RTX.character(matrices(own), settings)]))
  const comparison = new RTX.Comparison(models, ids, 5)
  let steps = 1
  while (comparison.step()) steps++
  return [comparison.runs, steps]
}
