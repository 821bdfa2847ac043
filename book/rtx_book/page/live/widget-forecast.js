// "Draw a series": seasonal naive and models that were trained in advance go on with it. The reader draws, drags the start
// of the forecasts along the series, and looks for its season.
RTX.part('widget-forecast', (RTX) => {
  const {el, range, check, select, more, voice, swatch, autocorrelation, withoutTrend, seasonOf, seasonal} = RTX
  const L = 96, H = 24, N = 144, LAGS = 48, PAUSE = 250, SLICE = 12, NAIVE = 'seasonal naive', FINE = 1000
  const LANES = {[NAIVE]: 'seasonal-naive', NLinear: 'nlinear', GRU: 'gru', Transformer: 'transformer'}
  const PLAIN = 'GRU, level left in', instance = {norm: 'instance', heads: 4}
  const READS = {GRU: instance, Transformer: instance, [PLAIN]: {norm: null}}  // NLinear takes the last value out
  const CANVAS = {from: 0, to: 100, unit: '', label: 'step', scale: [50, 20]}  // what is drawn is scaled by what it is drawn on
  const wave = (t, period, turn = 0) => Math.sin(2 * Math.PI * t / period + turn)
  const MADE = {
    'a season and a trend': (z) => (t) => 26 + t / 4.5 + 12 * wave(t, 12) + 5 * wave(t, 6, 1) + 1.5 * z(),
    'a level that jumps': (z) => (t) => (t < 100 ? 28 : 62) + 9 * wave(t, 16) + 3 * wave(t, 8, 2) + 1.5 * z(),
    'two seasons': (z) => (t) => 50 + 14 * wave(t, 7) + 20 * wave(t, 48) + 2 * z(),
    'a wave that grows': (z) => (t) => 42 + t / 20 + (4 + t / 6) * wave(t, 20) + z(),
    'a walk': (z) => { let v = 50; return () => v = Math.max(2, Math.min(98, v + 3 * z())) },
    'noise': (z) => () => 50 + 12 * z(),
    'a flat line, to draw on': () => () => 50,
  }
  const mean = (x) => x.reduce((sum, v) => sum + v, 0) / x.length
  const short = (v) => String(v >= 100 ? Math.round(v) : +v.toPrecision(2))
  const list = (all) => all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`

  // A recorded series: its axis, and the scale by the first values alone, as of a training part
  function measured({values, unit = '', label = 'step'}) {
    const first = values.slice(0, L), middle = mean(first), low = Math.min(...values), high = Math.max(...values)
    const spread = Math.sqrt(mean(first.map((v) => (v - middle) ** 2))), room = 0.12 * (high - low)
    return {values, from: low - room, to: high + room, unit: unit && `\u00a0${unit}`, label, scale: [middle, spread || 1]}
  }

  // options: series {name: {values, unit, label}}, N values each; start, of the forecast; asked, the names of those that go
  // on with it at first, or null for all; opens, the series that stands there at first. models: those of READS
  RTX.widget('forecast', (body, {series = {}, start = N - H, asked = null, opens = null}, models) => {
    const said = voice('live-aside'), known = {}, names = Object.keys(LANES)
    for (const name of Object.keys(models)) known[name] = RTX.forecaster(models[name].weights, READS[name])
    const lanes = names.filter((name) => name === NAIVE || known[name]), shown = new Set(asked || lanes)
    const now = {...CANVAS, values: [], at: start - 1, start, lag: 12, own: false, flat: true, bare: false, intervals: true}
    let errors = null, timer = 0

    // ---- what each says of the H values from a start on: [low, middle, high]
    const plainly = (name) => name === 'GRU' && now.bare ? PLAIN : name
    const season = (x) => now.own ? now.lag : seasonOf(x)
    function said_by(name, from) {
      const x = now.values.slice(from - L, from), [middle, spread] = now.scale
      if (name === NAIVE) return seasonal(x, H, season(x))
      const read = known[plainly(name)]
      return read(x.map((v) => (v - middle) / spread)).map((q) => q.map((v) => v * spread + middle))
    }
    // How far off on average, and how many the interval held, of what followed
    function score(steps, from) {
      const after = now.values.slice(from, from + H)
      return {off: mean(after.map((v, k) => Math.abs(v - steps[k][1]))),
        held: after.filter((v, k) => steps[k][0] <= v && v <= steps[k][2]).length, of: after.length}
    }
    // All starts that H values follow, in short slices, once the reader pauses
    function measure() {
      clearTimeout(timer)
      errors = null
      const found = Object.fromEntries(lanes.map((name) => [name, []]))
      let from = L
      const slice = () => {
        for (const end = performance.now() + SLICE; from <= N - H && performance.now() < end; from++)
          for (const name of lanes) found[name].push(score(said_by(name, from), from).off)
        if (from <= N - H) { timer = setTimeout(slice); return }
        errors = found
        show()
      }
      timer = setTimeout(slice, PAUSE)
    }

    // ---- pictures
    const hint = el('p', {className: 'forecast-hint', id: RTX.id('draw')}, 'Draw on the series with mouse or finger; drag '
      + 'the flag to move the start. By keyboard: arrows move along the series and change its value, with Shift they take it along.')
    const change = (values, at) => { Object.assign(now, {values, at, drawn: true}); measure(); show() }
    const picture = RTX.forecastPicture({hint: hint.id, lookback: L, horizon: H, change,
      move(at) { now.at = at; show() }, begin(at) { from.set(at - L); go(at) }})
    const pick = (lag) => { slider.set(lag - 1); look(lag) }
    const lags = RTX.lagPicture(pick), title = el('strong'), words = el('span'), found = el('p', {className: 'live-task'})
    const chart = RTX.chart({width: 400, height: 250, right: 96, alt: '', x: {from: L, to: N - H, label: 'start of the forecast'},
      y: {from: 0, to: 1, label: `mean error of ${H} steps`}})

    function show() {
      const {values, start} = now, x = values.slice(start - L, start), on = lanes.filter((name) => shown.has(name))
      const steps = Object.fromEntries(on.map((name) => [name, said_by(name, start)])), amount = (v) => `${short(v)}${now.unit}`
      picture.show({...now, say: amount, drawn: on.map((name) => ({cls: LANES[name], steps: steps[name]}))})
      // what followed
      const called = (name) => name === NAIVE ? `${name} (season ${season(x)})` : plainly(name)
      const scores = on.map((name) => ({name, ...score(steps[name], start)})).sort((a, b) => a.off - b.off)
      const follows = Math.min(H, N - start)
      title.textContent = !on.length ? 'Nobody is asked.'
        : follows ? `From step ${start} on, ${called(scores[0].name)} came nearest.`
          : 'Nothing has followed yet: drag the start back, and what they say is measured.'
      words.textContent = !on.length || !follows ? '' : ` Mean error over the ${follows} that followed, and how many of them lay `
        + `in the interval: ${list(scores.map(({name, off, held}) => `${called(name)} ${amount(off)} (${held})`))}.`
      if (errors && on.length) words.textContent += ` Over all ${N - H - L + 1} starts: `
        + `${list(on.map((name) => `${plainly(name)} ${amount(mean(errors[name]))}`))}.`
      draw(on)
      // the series and itself
      const r = autocorrelation(now.flat ? withoutTrend(x) : x, LAGS), own = seasonOf(x), v = r[now.lag].toFixed(2).replace('-', '−')
      found.textContent = `Lag ${now.lag}: correlation ${v}. ${own > 1 ? `Season found: ${own}.` : 'No season found.'}`
      lags.show({x: now.flat ? withoutTrend(x) : x, r, lag: now.lag, noise: 1.96 / Math.sqrt(L),
        alt: `Correlation of the ${L} values before the start with themselves, at lags 1 to ${LAGS}. ${found.textContent}`})
      said.say(`${title.textContent}${words.textContent}`, false)
    }
    // Errors at every start, and where the start stands
    function draw(on) {
      const all = errors ? on.flatMap((name) => errors[name]) : [], starts = Array.from({length: N - H - L + 1}, (_, k) => L + k)
      chart.y.to = all.length ? 1.05 * Math.max(...all, 1e-9) : 1
      chart.frame()
      for (const name of lanes)
        if (errors && on.includes(name))
          chart.line(name, starts, errors[name], {cls: `live-${LANES[name]}`, name: name.replace('seasonal ', '')})
        else chart.drop(name)
      chart.line('start', [now.start, now.start], [0, chart.y.to], {cls: 'live-base'})
      chart.settle()
      chart.svg.setAttribute('aria-label', `Mean error for every start from ${L} to ${N - H}.${words.textContent}`)
    }

    // ---- controls
    const go = (at) => { now.start = at; show() }
    const look = (lag) => { now.lag = lag; if (now.own) measure(); show() }
    const set = (name, again) => (on) => { now[name] = on; if (again) measure(); show() }
    const from = range('the forecast starts at', Array.from({length: N - L + 1}, (_, k) => L + k), start - L, go)
    const slider = range('lag', Array.from({length: LAGS}, (_, k) => k + 1), now.lag - 1, look)
    function lane(name) {
      const label = check(name, shown.has(name), (on) => { shown[on ? 'add' : 'delete'](name); show() })
      label.lastChild.before(swatch(LANES[name]))
      return label
    }
    const names_of = [...Object.keys(MADE), ...Object.keys(series)], opened = opens ?? names_of[0]
    function put(name) {
      const chance = RTX.random(1), step = MADE[name]?.(chance.normal)
      const values = Array.from({length: N}, (_, t) => step && Math.max(1, Math.min(99, step(t))))
      Object.assign(now, step ? {...CANVAS, values} : measured(series[name]), {drawn: false})
      measure()
      show()
    }
    const share = (v) => FINE * (v - now.from) / (now.to - now.from), value = (k) => now.from + (now.to - now.from) * k / FINE
    const kept = RTX.keptDrawing('drawn', N, FINE, () => now.drawn ? now.values.map(share) : null,
      (levels) => change(levels.map(value), now.at))
    body.append(
      el('div', {className: 'live-controls'}, select('Series:', Object.fromEntries(names_of.map((name) => [name, name])), opened, put),
        from.label),
      picture.svg, el('div', {className: 'live-controls'}, lanes.map(lane), check('intervals of 80\u00a0%', true, set('intervals'))),
      el('p', {className: 'live-task forecast-told'}, title, words),
      more('Its season, every start, and how to draw by keyboard',
        known[PLAIN] && check('the GRU reads without level and scale', true, (on) => set('bare', true)(!on)),
        el('div', {className: 'live-charts'},
          el('div', {}, lags.svg, found, el('div', {className: 'live-controls'}, slider.label,
            check('trend taken out first', true, set('flat')), check('seasonal naive repeats this lag', false, set('own', true)))),
          chart.svg), hint),
      said.element, kept)
    put(opened)
    new ResizeObserver(() => requestAnimationFrame(show)).observe(body)
  })
})
