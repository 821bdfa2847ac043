async ({settings}) => {
  const port = RTX.worker(RTX.TRAINER, (RTX, port, inPage) => RTX.trainer(port, inPage))
  const ask = (run, cells, most) => new Promise((done) => {
    port.onmessage = ({data}) => {
      const steps = Object.fromEntries(Object.entries(data.cells).map(([kind, {steps}]) => [kind, steps]))
      if (data.run === run && data.ended) done(steps)
    }
    port.postMessage({run, settings, cells, rates: RTX.RATES, clip: 1, on: true, most})
  })
  const told = []
  for (const asked of [[1, ['rnn'], 3], [1, ['rnn', 'gru'], 5], [1, ['gru'], 6], [2, ['gru'], 2]])
    told.push(await ask(...asked))
  return told
}
