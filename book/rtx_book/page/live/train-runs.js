// What the page keeps of the training of one cell: its curves, thinned when they grow long, and what happened to it.
RTX.part('train-runs', (RTX) => {
  const POINTS = 2000  // of a curve; a longer one keeps every other
  let count = 0
  const freshRun = (kind, length) => ({
    key: ++count, kind, length, steps: 0, at: [], losses: [], errors: [], norms: [], share: 0,
    events: {}, state: 'learning', asked: [], answer: null, ways: null,
  })
  // Takes up what the worker said of a cell
  function takeUp(run, news) {
    const first = news.steps - news.errors.length + 1
    news.errors.forEach((error, i) => {
      run.at.push(first + i)
      run.errors.push(error)
      run.losses.push(news.losses[i])
    })
    const half = (all) => all.filter((_, i) => i % 2 === 0 || i === all.length - 1)
    if (run.at.length > POINTS) for (const key of ['at', 'errors', 'losses']) run[key] = half(run[key])
    for (const key of ['steps', 'norms', 'share', 'events', 'state', 'asked', 'answer', 'ways']) run[key] = news[key]
  }
  Object.assign(RTX, {freshRun, takeUp})
})
