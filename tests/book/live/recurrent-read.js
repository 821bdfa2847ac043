// All that a recurrent model hands out, step by step.
({weights, options, x}) => {
  const model = new RTX.Recurrent(matrices(weights), options), out = {h: [], c: [], gates: []}
  for (const v of x) {
    const {h, layers} = model.read(v)
    if (h !== layers.at(-1).h) throw new Error('h is not the last layer\'s')
    for (const name in out) out[name].push(layers.map((layer) => lists(layer[name] || {})))
  }
  return out
}
