({weights, positions, heads, ids, options}) => {
  const model = new RTX.SchemeTransformer(matrices(weights), {positions, heads})
  const {logits, looks} = model.read(ids, {...options, window: options.window || Infinity})
  const full = looks.map((block) => block.map((queries) => queries.map(({from, a}) =>
    [...Array(from).fill(0), ...a, ...Array(ids.length - from - a.length).fill(0)])))
  return {logits: lists(logits), looks: full}
}
