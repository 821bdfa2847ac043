({kind, settings, steps, clip}) => {
  const model = new RTX.Adder({...settings, kind}), own = model.named(), batches = [], losses = []
  const values = () => Object.fromEntries(Object.entries(own).map(([name, p]) => [name, [...p.v]]))
  const start = values(), rates = Object.fromEntries(Object.keys(own).map((name, i) => [name, model.adam.factors[i]]))
  while (model.steps < steps) {
    losses.push(model.train(RTX.RATES[kind], clip).loss)
    batches.push({x: [...model.x.v], target: [...model.target]})
  }
  return {rate: RTX.RATES[kind], rates, start, end: values(), batches, losses}
}
