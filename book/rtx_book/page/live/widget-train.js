// "Train them yourself": recurrent cells learn the adding problem side by side in the reader's page.
// options: cells, those that are ticked at the start; length; rate, one for all cells (otherwise each its own); scale,
// forget, clip; seed, hidden, batch; most, steps until it pauses by itself; limit, seconds of work until it does;
// controls, those that are shown; scan: true offers IndRNN's scan; gradients: false leaves out all that is said of them;
// ghosts, recorded runs {cell: {step, error, norms}} of the length at the start, pale until a cell has trained.
RTX.part('widget-train', (RTX) => {
  const {el} = RTX, {NAMES, ...words} = RTX.trainWords
  const LENGTHS = [10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500], SCALES = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3]
  const RATES = {'': 'each cell its own', 0.001: '0.001', 0.003: '0.003', 0.01: '0.01', 0.03: '0.03'}
  const CONTROLS = ['cells', 'length', 'scale', 'rate', 'clip', 'forget', 'scan']
  const SHORT = 30, OLD = 8  // a shorter run leaves no line; so many lines of earlier runs stay
  const ENDED = 'All have ended, and nothing more will happen: press Reset for other weights, or change something.'
  const FORBIDDEN = 'This page may start no worker, so it computes by itself and may stutter.'

  RTX.widget('train', (body, options) => {
    const {cells = ['rnn', 'gru'], most = 2000, limit = 120, controls = CONTROLS, ghosts = {}, gradients = true} = options
    const settings = {length: 100, hidden: 32, batch: 16, scale: 1, forget: 1, seed: 0, scan: false}
    for (const key in settings) settings[key] = options[key] ?? settings[key]
    const now = {run: 0, most, clip: options.clip ?? 1, rate: options.rate ?? null}
    const chosen = new Set(cells), old = []
    let runs = new Map(), drawn = 0

    // ---- what the reader does
    const reset = RTX.button('Reset', () => {
      training.pause()
      settings.seed++
      renew()
      voice.say('Reset: other weights at the start, not trained.')
    })
    const clear = RTX.button('Forget earlier runs', () => {
      old.splice(0).forEach(charts.drop)
      draw()
      reset.focus()
      voice.say('Earlier runs are forgotten.')
    })
    // A change that needs new networks; training goes on with them
    const anew = (key) => (value) => {
      const on = training.on
      training.pause()
      settings[key] = value
      renew()
      if (on) training.go()
    }
    const tick = (kind) => (on) => {
      if (on) chosen.add(kind)
      else {
        chosen.delete(kind)
        if (runs.has(kind)) retire(runs.get(kind))
        runs.delete(kind)
      }
      place()
      if (!chosen.size) training.pause()
      if (training.on) training.send()
      draw()
      voice.say(`${NAMES[kind]} ${on ? 'joins' : 'is left out'}.`)
    }
    const steer = (key, value) => { now[key] = value; if (training.on) training.send() }  // running networks take it up as well
    const over = (name, values, key, say) => {
      const all = [...new Set([...values, settings[key]])].sort((a, b) => a - b)
      return RTX.range(name, all, all.indexOf(settings[key]), anew(key), say).label
    }
    const marked = (kind) => {
      const label = RTX.check(NAMES[kind], chosen.has(kind), tick(kind))
      label.firstChild.after(RTX.swatch(kind))
      return label
    }
    const parts = {
      cells: el('fieldset', {className: 'live-radios'}, el('legend', {}, 'Cells'), Object.keys(NAMES).map(marked)),
      length: over('Length T', LENGTHS, 'length', (v) => `${v} steps`),
      scale: over('Recurrent weights at the start', SCALES, 'scale', (v) => `× ${v}`),
      rate: RTX.select('Rate', RATES, now.rate ?? '', (v) => steer('rate', +v || null)),
      clip: RTX.check('clip the gradient at 1', now.clip > 0, (on) => steer('clip', on ? 1 : 0)),
      forget: over('LSTM’s forget bias', [0, 1, 2, 3, 4], 'forget'),
      scan: RTX.check('IndRNN forward by the scan', settings.scan, anew('scan')),
    }
    const place = () => {
      parts.forget.hidden = !chosen.has('lstm')
      parts.scan.hidden = !options.scan || !chosen.has('indrnn')
      training.start.disabled = !chosen.size
    }

    // ---- what is seen
    const charts = RTX.trainCharts(settings.length, gradients), voice = RTX.voice(), task = el('p', {className: 'live-task'})
    const training = RTX.training(body, {parts: RTX.TRAINER, serve: (RTX, port, inPage) => RTX.trainer(port, inPage),
      begins, asks, take, draw, voice})
    const pale = (kind) => ghosts[kind] && settings.length === (options.length ?? 100)
    const list = el('ul', {className: 'live-told'}), ways = el('p', {className: 'live-task'})
    const earlier = el('p', {className: 'live-status'}), forbidden = el('p', {hidden: true}, FORBIDDEN)
    function draw() {
      const all = [...runs.values()], lines = [...chosen].map((kind) => words.told(runs.get(kind) || {kind}, gradients))
      charts.draw(all, old, settings.length, [...chosen].filter(pale).map((kind) => ({kind, ...ghosts[kind]})))
      task.textContent = words.question(all)
      list.classList.toggle('live-room', runs.size > 0)
      list.replaceChildren(...lines.map((line) => el('li', {}, line)))
      earlier.hidden = clear.hidden = !old.length
      if (old.length) earlier.textContent = words.earlier(old)
      const both = runs.get('indrnn')?.ways
      ways.hidden = !both
      if (both) ways.textContent = words.bothWays(both, settings.length)
      if (!training.on) charts.name(lines.join(' '))  // a name that changes all the time would be read all the time
    }

    // ---- the runs of now, one a cell, and the earlier ones
    function retire(run) {
      if (run.steps >= SHORT) old.push(run)
      else charts.drop(run)
      if (old.length > OLD) charts.drop(old.shift())
    }
    function renew() {
      for (const run of runs.values()) retire(run)
      runs = new Map()
      now.run++
      now.most = most
      draw()
    }

    // ---- the worker
    function begins() {
      const tired = [...runs.values()].filter((run) => run.state === 'learning').every((run) => run.steps >= now.most)
      if (runs.size && tired) now.most += most
      const names = [...chosen].map((kind) => NAMES[kind]).join(', ')
      return `${names}: training on sequences of ${settings.length} steps.`
    }
    function asks() {
      for (const kind of chosen) if (!runs.has(kind)) runs.set(kind, RTX.freshRun(kind, settings.length))
      const all = [...chosen], rates = now.rate ? Object.fromEntries(all.map((kind) => [kind, now.rate])) : RTX.RATES
      return {...now, cells: all, settings: {...settings}, rates}
    }
    function take({run, cells, ended, seconds}) {
      if (run !== now.run) return
      const happened = Object.entries(cells).filter(([kind, news]) => runs.has(kind) && update(runs.get(kind), news))
      const said = happened.map(([kind]) => words.latest(runs.get(kind), gradients))
      forbidden.hidden = training.port.where !== 'page'
      if (said.length) voice.say(said.join(' '))
      training.used += seconds
      if (ended) finish(said)
      else if (training.used > limit) training.pause(`Paused after ${limit} seconds of work; press Train to go on.`)
      const time = performance.now()
      if (training.on && time - drawn < (RTX.still() ? 2000 : 80)) return
      drawn = time
      draw()
    }
    function finish(said) {
      const left = [...runs.values()].some((run) => run.state === 'learning')
      training.pause([...said, left ? `Paused after ${now.most} steps; press Train to go on.` : ENDED].join(' '))
    }
    // True if something happened to the cell
    function update(run, news) {
      if (!news.errors.length) return false
      const before = words.happened(run, gradients).length
      RTX.takeUp(run, news)
      return words.happened(run, gradients).length > before
    }
    // A link brings the weights of the start, and lets them train again if they had
    const seed = RTX.kept('seed', () => String(settings.seed), (value) => {
      return /^\d{1,6}$/.test(value) ? anew('seed')(+value) : false
    })
    const ran = RTX.kept('trained', () => String(+(training.on || [...runs.values()].some((run) => run.steps))), (value) => {
      if (value !== '1') return value === '0'
      training.await()
    })
    const shown = Object.keys(parts).filter((name) => controls.includes(name)).map((name) => parts[name])
    body.append(  // what is pressed first and what is seen first, above the fold
      el('div', {className: 'live-buttons'}, training.start, reset, clear), forbidden, seed,
      el('div', {className: 'live-charts'}, charts.elements), el('div', {className: 'live-controls'}, shown),
      task, voice.element, list, ways, earlier, ran)
    voice.element.classList.add('live-brief')
    place()
    renew()
    const seen = [...chosen].some(pale) ? ' Pale: recorded runs.' : ''
    voice.say(`Press Train.${seen} Everything may be changed while it runs; earlier runs stay as thin lines.`)
  })
})
