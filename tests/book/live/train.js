({cells, settings, most}) => new Promise((done, fail) => {
  const told = Object.fromEntries(cells.map((kind) => [kind, {losses: [], errors: []}]))
  const port = RTX.worker(RTX.TRAINER, (RTX, port, inPage) => RTX.trainer(port, inPage))
  port.onerror = fail
  port.onmessage = ({data}) => {
    for (const [kind, of] of Object.entries(data.cells)) {
      told[kind].losses.push(...of.losses)
      told[kind].errors.push(...of.errors)
      Object.assign(told[kind], {steps: of.steps, state: of.state, events: of.events, norms: of.norms})
    }
    if (data.ended) { port.terminate(); done({where: port.where, cells: told}) }
  }
  port.postMessage({run: 1, settings, cells, rates: RTX.RATES, clip: 1, on: true, most})
})
