([weights, ids]) => {
  const model = new RTX.BitReader(matrices(weights))
  model.run(ids)  // each run begins anew
  const steps = model.run(ids)
  return {logits: steps.flatMap(({logits}) => [...logits]),
    deltas: steps[0].layers.map((_, l) => steps.flatMap(({layers}) => [...layers[l].delta]))}
}
