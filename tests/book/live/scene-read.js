({weights, picture, words}) => {
  const model = new RTX.Captioner(matrices(weights))
  let state = model.look(picture)
  const steps = words.map((word) => { const out = model.step(state, word); state = out.state; return out })
  const wrote = model.write(picture, {most: 6}).map(({word}) => word)
  return {told: model.told, wrote, ...lists({logits: steps.map((s) => s.logits), weights: steps.map((s) => s.weights)})}
}
