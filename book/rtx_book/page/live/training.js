// What trains behind a button, in a worker that is made at the first press: it waits out of sight and ends with its figure.
RTX.part('training', (RTX) => {
  // parts and serve make the worker (RTX.worker), which is sent what asks() gives, and `on`; take(news) hears its answers.
  // begins() says what begins, or null where nothing can. Of what is returned, `used` counts seconds of work, for others.
  RTX.training = (body, {parts, serve, begins, asks, take, draw, voice}) => {
    const start = RTX.button('Train', () => own.on ? pause('Paused.') : go()), own = {on: false, used: 0, start, send, go, pause}
    let waits = false
    start.classList.add('live-first')
    function send() {
      const asked = asks()
      if (!own.port) {
        own.port = RTX.worker(parts, serve)
        own.port.onmessage = ({data}) => take(data)
        own.port.onerror = (message) => pause(`The training stopped: ${message}`)
      }
      own.port.postMessage({...asked, on: own.on})
    }
    function turn(on, word) {
      own.on = on
      start.textContent = on ? 'Pause' : 'Train'
      send()
      draw()
      if (word) voice.say(word)
    }
    function go() {
      const word = begins()
      if (word === null) return
      waits = false
      own.used = 0
      turn(true, word)
    }
    function pause(word) {
      waits = false
      if (own.on) turn(false, word)
    }
    const sight = RTX.sight(body, {wake: () => { if (waits) go() }, gone: () => own.port?.terminate(), rest() {
      const begins = waits || own.on
      pause('Waits while it is out of sight.')
      waits = begins
    }})
    // It begins once it is seen, or now if it is, but not for readers who asked for less motion
    own.await = () => {
      waits = !own.on && !RTX.still()
      sight()
    }
    return own
  }
})
