// A text learned for one step: the loss, its gradients, the weights, what is expected next, and the file.
(text) => {
  const {ids, symbols} = RTX.textOf(text), learner = new RTX.TextLearner({ids, vocabulary: symbols.length, hidden: 5})
  learner.tape.start()
  const loss = learner.loss(ids, [0, 7, 30]), named = learner.named(), model = new RTX.CharRecurrent(named)
  learner.adam.zero()
  learner.tape.backward()
  const of = (key) => Object.fromEntries(Object.entries(named).map(([name, p]) => [name, lists(p[key])]))
  const logits = [...ids.subarray(0, 90)].map((id) => model.read(id).logits)
  return [loss, of('g'), of('v'), lists(logits), [...RTX.ownFile(learner.weights(), symbols, RTX.ownLength)]]
}
