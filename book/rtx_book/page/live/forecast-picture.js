// A series on which the reader draws, with the start of the forecasts and what they say; and the series beside itself, so
// many steps later.
RTX.part('forecast-picture', (RTX) => {
  const {el, linear} = RTX
  const TALL = 236, HEAD = 30, FOOT = 40, LEFT = 46, RIGHT = 14, FLAG = 92, FINE = 40
  const LAGS = {tall: 264, top: 24, middle: 104, zero: 172, r: 52, left: 40, right: 8}
  const clip = (v, from, to) => Math.max(from, Math.min(to, v))
  const text = (x, y, say, anchor = 'middle', cls = '') => el('text', {x, y, class: cls, 'text-anchor': anchor}, say)
  const path = (cls, points) => el('path', {class: cls, d: `M${points.map((p) => p.map((v) => v.toFixed(1)).join(' ')).join('L')}`})
  const wide = (svg, most) => clip(svg.clientWidth || most, 280, most)
  // Where a pointer is, in the picture's own units
  function spot(svg, {clientX, clientY}) {
    const place = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / place.width
    return [(clientX - place.left) * scale, (clientY - place.top) * scale]
  }
  // Calls drag(event, first) while a pointer is down on svg
  function follow(svg, drag) {
    let down = false
    svg.addEventListener('pointerdown', (event) => {
      if (event.button) return
      svg.setPointerCapture(event.pointerId)
      down = true
      drag(event, true)
    })
    svg.addEventListener('pointermove', (event) => { if (down) drag(event, false) })
    for (const end of ['pointerup', 'pointercancel']) svg.addEventListener(end, () => { down = false })
  }

  // hint, the id of how to draw. change(values, at) gets the new series and the step that was drawn, move(at) the step
  // that is looked at, begin(start) the step before which the models read; each then calls show.
  RTX.forecastPicture = ({hint, lookback, horizon, change, move, begin}) => {
    let now = null, last = null, flag = false
    const svg = el('svg', {class: 'forecast-picture', role: 'slider', tabindex: 0, 'aria-label': 'the series',
      'aria-describedby': hint, onkeydown: key})
    const step = () => (wide(svg, 720) - LEFT - RIGHT) / (now.values.length + horizon)
    const y = (v) => HEAD + (TALL - HEAD - FOOT) * (now.to - clip(v, now.from, now.to)) / (now.to - now.from)
    const put = (next, at) => change(now.values.map((v, t) => next.get(t) ?? v), at)

    // ---- the pointer: above the series it takes the start along, on it it draws
    follow(svg, (event, first) => {
      const [left, top] = spot(svg, event), n = now.values.length, next = new Map()
      if (first) { flag = top < HEAD; last = null }
      if (flag) return begin(clip(Math.round((left - LEFT) / step()), lookback, n))
      const size = now.to - now.from, v = now.to - (top - HEAD) * size / (TALL - HEAD - FOOT)
      const t = clip(Math.floor((left - LEFT) / step()), 0, n - 1), old = last ?? {t, v}, far = Math.abs(t - old.t)
      last = {t, v: +clip(v, now.from, now.to).toPrecision(5)}
      for (let k = 0; k <= far; k++)  // where it goes fast, the steps between lie on a line
        next.set(old.t + Math.sign(t - old.t) * k, old.v + (far ? k / far : 1) * (last.v - old.v))
      put(next, t)
    })
    // ---- the keyboard: with Shift the arrows take the value along
    function key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return
      const {values, at, from, to} = now, n = values.length, by = (to - from) / FINE
      const way = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: n - 1}[event.key], t = clip(way ?? at, 0, n - 1)
      const up = {ArrowUp: by, ArrowDown: -by, PageUp: 5 * by, PageDown: -5 * by}[event.key]
      if (way !== undefined && event.shiftKey) put(new Map([[t, values[at]]]), t)
      else if (way !== undefined) move(t)
      else if (up) put(new Map([[at, clip(values[at] + up, from, to)]]), at)
      else return
      event.preventDefault()
    }

    // now: values, from and to, at, start, say(v) in words, drawn: [{cls, steps: [[low, middle, high]]}], intervals
    function show(given) {
      now = given
      const {values, start, at, drawn} = now, n = values.length, width = wide(svg, 720), one = step(), floor = TALL - FOOT
      const x = (t) => LEFT + (t + 0.5) * one, edge = LEFT + start * one
      const line = (list, from) => list.map((v, k) => [x(from + k), y(v)])
      const bands = drawn.map(({cls, steps}) => path(`forecast-band live-${cls}`,
        [...line(steps.map(([low]) => low), start), ...line(steps.map(([, , high]) => high), start).reverse()]))
      const pole = clip(edge, LEFT + FLAG / 2, width - RIGHT - FLAG / 2), ticks = []
      for (let t = 24; t <= n + horizon; t += width < 500 ? 48 : 24) ticks.push(t)
      svg.setAttribute('viewBox', `0 0 ${width} ${TALL}`)
      for (const [name, v] of [['now', values[at].toFixed(2)], ['min', now.from], ['max', now.to]])
        svg.setAttribute(`aria-value${name}`, v)
      svg.setAttribute('aria-valuetext', `step ${at + 1} of ${n}: ${now.say(values[at])}`)
      svg.replaceChildren(
        el('rect', {class: 'forecast-read', x: edge - lookback * one, y: HEAD, width: lookback * one, height: floor - HEAD}),
        ...linear(5)(now).flatMap((v) => [el('path', {class: 'forecast-grid', d: `M${LEFT} ${y(v)}H${width - RIGHT}`}),
          text(LEFT - 6, y(v) + 5, String(v).replace('-', '−'), 'end')]),
        ...ticks.map((t) => text(x(t - 1), floor + 17, t)), text((LEFT + width - RIGHT) / 2, TALL - 5, now.label),
        ...(now.intervals ? bands : []),
        path('forecast-series', line(values.slice(0, start), 0)),
        ...drawn.map(({cls, steps}) => path(`live-line live-${cls}`,
          line([values[start - 1], ...steps.map(([, middle]) => middle)], start - 1))),
        path('forecast-after', line(values.slice(start - 1), start - 1)),
        el('path', {class: 'forecast-pole', d: `M${edge} ${HEAD - 4}V${floor}`}),
        el('rect', {class: 'forecast-flag', x: pole - FLAG / 2, y: 2, width: FLAG, height: HEAD - 6, rx: 4}),
        text(pole, 19, `◂ start ${start} ▸`, 'middle', 'forecast-flagged'),
        el('circle', {class: 'forecast-at', cx: x(at), cy: y(values[at]), r: 4}))
    }
    return {svg, show}
  }

  // The window and, so many steps later, the window again; below, its correlation with itself at each lag. pick(lag)
  RTX.lagPicture = (pick) => {
    const svg = el('svg', {class: 'forecast-lags', role: 'img'}), {left, right, tall, zero, r: high} = LAGS
    let lags = 1
    follow(svg, (event) => {
      const width = svg.viewBox.baseVal.width, [x] = spot(svg, event)
      pick(clip(Math.round((x - left) * lags / (width - left - right) + 0.5), 1, lags))
    })
    // x, the window; r, from lag 0 on; lag; noise, where noise stays
    function show({x, r, lag, noise, alt}) {
      lags = r.length - 1
      const width = wide(svg, 560), room = width - left - right, low = Math.min(...x), size = Math.max(...x) - low || 1
      const at = (t) => left + room * t / (x.length - 1), bar = (k) => left + room * (k - 0.5) / lags
      const y = (v) => LAGS.middle - (LAGS.middle - LAGS.top) * (v - low) / size, height = (v) => zero - high * v
      const bars = (cls, list) => el('path', {class: cls, 'stroke-width': Math.max(2, 0.6 * room / lags),
        d: list.map((k) => `M${bar(k).toFixed(1)} ${zero}V${height(r[k]).toFixed(1)}`).join('')})
      const all = Array.from({length: lags}, (_, k) => k + 1)
      svg.setAttribute('viewBox', `0 0 ${width} ${tall}`)
      svg.setAttribute('aria-label', alt)
      svg.replaceChildren(
        el('text', {x: left, y: 14, 'text-anchor': 'start'}, 'what they read, and the same ',
          el('tspan', {class: 'forecast-later'}, `${lag} later`)),
        path('forecast-series', x.map((v, t) => [at(t), y(v)])),
        path('forecast-copy', [...x.slice(0, x.length - lag)].map((v, t) => [at(t + lag), y(v)])),
        ...[1, 0, -1].flatMap((v) => [el('path', {class: 'forecast-grid', d: `M${left} ${height(v)}H${width - right}`}),
          text(left - 6, height(v) + 5, v < 0 ? '−1' : v, 'end')]),
        ...[noise, -noise].map((v) => el('path', {class: 'forecast-noise', d: `M${left} ${height(v)}H${width - right}`})),
        bars('forecast-bar', all.filter((k) => k !== lag)), bars('forecast-bar forecast-chosen', [lag]),
        ...all.filter((k) => k % 12 === 0).map((k) => text(bar(k), tall - 14, k)),
        text(left - 6, tall - 14, 'lag', 'end'))
    }
    return {svg, show}
  }
})
