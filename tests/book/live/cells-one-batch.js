({kind, batch, length, hidden, layers, weights, x, target}) => {
  const model = new RTX.Adder({kind, batch, length, hidden, layers}), own = model.named(), given = matrices(weights)
  if (Object.keys(own).sort().join() !== Object.keys(given).sort().join()) throw new Error(Object.keys(own))
  for (const name in own) own[name].v.set(given[name].v)
  model.x.v.set(x)
  model.target.set(target)
  const loss = model.forward()
  model.backward()
  const gradients = Object.fromEntries(Object.entries(own).map(([name, p]) => [name, p.g]))
  return lists({loss: [loss], y: model.y.v, 'norms of dL/dh_t': model.stateGradients(), ...gradients})
}
