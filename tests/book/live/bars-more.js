({kind, settings}) => {
  const port = RTX.worker(RTX.TRAINER, (RTX, port, inPage) => RTX.trainer(port, inPage))
  let most = 0
  window.more = (n) => new Promise((done) => {
    let seconds = 0
    most += n
    port.onmessage = ({data}) => { seconds += data.seconds; if (data.ended) done(1000 * seconds / n) }
    port.postMessage({run: 1, settings, cells: [kind], rates: {[kind]: 1e-6}, clip: 1, on: true, most})
  })
}
