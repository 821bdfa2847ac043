// A figure starts when it comes near the screen: its files come by script tags (from file:// too), and the widget
// takes the place of the still picture once it stands. Where anything fails the picture stays.
RTX.part('start', (RTX) => {
  const {el} = RTX, NEAR = '600px'
  // Where this file came from; nothing where the output of a notebook carries every file itself.
  const origin = document.currentScript?.src, home = origin ? new URL('.', origin).href : null
  RTX.widgets ||= {}
  RTX.weights ||= {}

  const asked = new Map()
  // A script, once, however many figures ask for it. A failed one may be asked for again.
  function load(src) {
    if (!asked.has(src)) {
      asked.set(src, new Promise((done, fail) => {
        const refused = () => { asked.delete(src); fail(Error(`${src} could not be loaded`)) }
        const style = src.endsWith('.css')
        const tag = style ? {rel: 'stylesheet', href: src} : {src, async: false}  // scripts run in the order of asking
        document.head.append(el(style ? 'link' : 'script', {...tag, onload: () => done(), onerror: refused}))
      }))
    }
    return asked.get(src)
  }
  const words = (text) => (text || '').split(' ').filter(Boolean)
  async function fetchAll({parts, styles, weights}) {
    if (!home) return
    const scripts = words(parts).filter((name) => name !== 'base' && !RTX.parts.has(name))
    const packed = Object.values(weights).filter((hash) => !RTX.weights[hash]).map((hash) => `weights-${hash}`)
    await Promise.all([
      load(`${home}address.js`),
      ...words(styles).map((name) => load(`${home}${name}.css`)),
      ...[...scripts, ...packed].map((name) => load(`${home}${name}.js`)),
    ])
  }

  // Between two pieces of work the page may paint and answer
  const pause = () => new Promise((done) => setTimeout(done))

  // widget(kind, (body, options, models) => ...) says how a kind of figure is made in the empty element `body`.
  const widget = (kind, make) => { RTX.widgets[kind] = make }

  const lost = new Set()  // figures of which a file did not come: tried again when next in sight, or online
  async function run(figure) {
    if (figure.dataset.state && !lost.delete(figure)) return
    figure.dataset.state = 'loading'
    let come = false
    try {
      const {live, parts, styles, options} = figure.dataset, weights = JSON.parse(figure.dataset.weights || '{}')
      await fetchAll({parts, styles, weights})
      come = true
      near.unobserve(figure)
      const models = {}
      for (const [name, hash] of Object.entries(weights)) {
        models[name] = {weights: RTX.unpack(RTX.weights[hash])}
        await pause()
      }
      await pause()
      const body = el('div', {className: 'live-body', onkeydown: (event) => event.stopPropagation()})  // Jupyter takes keys
      await RTX.widgets[live](body, JSON.parse(options || '{}'), models)
      figure.querySelector('.live-still').after(body)
      figure.dataset.state = 'ready'
      if (home) RTX.address.keep(figure, body)  // a notebook's address is not ours
    } catch (error) {
      figure.dataset.state = 'failed'
      if (!come) lost.add(figure)
      console.warn(`The live figure stays a picture: ${error.message}`)
    }
  }

  const near = new IntersectionObserver((entries) => {
    for (const {isIntersecting, target} of entries) if (isIntersecting) run(target)
  }, {rootMargin: NEAR})
  addEventListener('online', () => {
    for (const figure of lost) {  // a new look at what is near
      near.unobserve(figure)
      near.observe(figure)
    }
  })
  const start = (root = document) => {
    for (const figure of root.querySelectorAll('figure[data-live]:not([data-state])')) near.observe(figure)
  }

  Object.assign(RTX, {start, run, load, widget})
})
