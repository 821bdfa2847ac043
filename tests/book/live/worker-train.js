(given) => new Promise((done, fail) => {
  const told = {}, port = RTX.worker(RTX.TRAINER, (RTX, port, inPage) => RTX.trainer(port, inPage))
  port.onerror = fail
  port.onmessage = ({data}) => {
    for (const [kind, {errors, norms, asked, answer}] of Object.entries(data.cells))
      told[kind] = {errors: [...told[kind]?.errors || [], ...errors], norms, asked, answer}
    if (data.ended) { port.terminate(); done({where: port.where, told}) }
  }
  port.postMessage({run: 1, rates: RTX.RATES, clip: 1, on: true, most: 7, ...given})
})
