({kind, weights, settings, ids}) => {
  const model = new RTX[kind](matrices(weights), settings), out = {logits: [], attention: []}
  for (const id of ids) {
    const {logits, attention} = model.read(id)
    out.logits.push(lists(logits))
    out.attention.push(lists(attention))
  }
  return out
}
