// The one global, RTX. Every other file hands it one named function, `RTX.part('name', (RTX) => ...)`, which adds its
// names to RTX. Classic scripts and not modules: a page opened from file:// may load no module. A file that is loaded
// twice, as by two outputs of a notebook, does nothing the second time.
globalThis.RTX ||= {};
((RTX) => {
  if (RTX.part) return
  const PATIENCE = 10000  // milliseconds until a worker that has not answered counts as forbidden
  const parts = new Map()
  RTX.parts = parts
  RTX.part = (name, make) => {
    if (parts.has(name)) return
    parts.set(name, make)
    make(RTX)
  }

  // A worker in which the named parts are loaded and then main(RTX, port, inPage) runs; main talks through
  // port.postMessage and port.onmessage, and so does the page through what comes back. The worker's script is made out
  // of the functions' own text, as a page opened from file:// may load no worker from a file.
  // Some pages forbid workers, and most tell so only later, by an event. So nothing is sent until the worker has said
  // that it is there; if it never does, main runs in the page itself, where it has to work in short slices.
  RTX.worker = (names, main) => {
    const waiting = [], text = script(names, main)
    let target = null, closed = false
    const port = {
      where: null,  // 'worker' or 'page', once it is known
      onmessage: null,
      onerror: (error) => console.error(error),
      postMessage: (data) => target ? target.postMessage(data) : waiting.push(data),
      terminate() { closed = true; close() },
    }
    const begin = (where, to, from) => {
      port.where = where
      target = to
      from.onmessage = ({data}) => { if (!closed) port.onmessage?.({data}) }
      waiting.splice(0).forEach((data) => target.postMessage(data))
    }
    const inPage = () => {
      if (port.where || closed) return
      close()
      const {port1, port2} = new MessageChannel()
      close = () => { port1.close(); port2.close() }
      main(RTX, port2, true)
      begin('page', port1, port1)
    }
    let close = () => {}
    try {
      const url = URL.createObjectURL(new Blob([text], {type: 'text/javascript'}))
      const worker = new Worker(url), timer = setTimeout(inPage, PATIENCE)
      close = () => { worker.terminate(); clearTimeout(timer); URL.revokeObjectURL(url) }
      worker.onerror = (event) => {
        event.preventDefault?.()
        if (port.where) port.onerror(event.message)
        else inPage()
      }
      worker.onmessage = () => {  // the first word is only that it is there
        clearTimeout(timer)
        URL.revokeObjectURL(url)
        begin('worker', worker, worker)
      }
    } catch { inPage() }
    return port
  }
  function script(names, main) {
    const missing = names.filter((name) => !parts.has(name))
    if (missing.length) throw new Error(`RTX.worker: no part ${missing.join(', ')} is loaded`)
    const makes = names.map((name) => `(${parts.get(name)})(RTX)`)
    return `'use strict';const RTX={};${makes.join(';')};(${main})(RTX,globalThis,false);postMessage(null)`
  }
})(globalThis.RTX)
