({weights, settings, x}) => {
  const model = new RTX.RTransformer(matrices(weights), settings), out = []
  const read = (v) => model.read(typeof v === 'number' ? v : Float64Array.from(v))
  read(x[0])
  model.reset()
  x.forEach((v) => out.push(read(v)))
  return lists(out)
}
