// "One neuron": the reader places pulses at any step and moves u; the states, and what one pulse is still worth.
RTX.part('widget-pulses', (RTX) => {
  const {el} = RTX
  const UP = 1.1, FINE = 0.001, KEEP = 0.1, GROW = 2, HEIGHT = 250
  const minus = (v) => String(v).replaceAll('-', '−')
  const short = (v) => {
    if (v !== 0 && (Math.abs(v) < 0.001 || Math.abs(v) >= 1e5)) return minus(v.toExponential(1).replace('e+', 'e'))
    return minus(+v.toPrecision(3))
  }
  const round = (k) => Math.round((-UP + k * FINE) * 1000) / 1000
  const WEIGHTS = Array.from({length: Math.round(2 * UP / FINE) + 1}, (_, k) => round(k))

  // What becomes of a value, in one line
  function fate(u) {
    const k = RTX.memoryLength(u), size = Math.abs(u), turns = u < 0 ? ', with a sign that alternates' : ''
    const steps = `${k < 100 ? k.toFixed(1) : Math.round(k).toLocaleString('en')} steps`
    if (u === 0) return 'nothing is left after one step'
    if (size === 1) return `nothing is lost${turns}`
    return size < 1 ? `half is left after ${steps}${turns}` : `it grows, to twice as much after ${steps}${turns}`
  }

  // options: u; pulses {step: height}; lengths, the numbers of steps that may be shown
  RTX.widget('pulses', (body, {u = 0.9, pulses = {3: 1}, lengths = [60, 300]}) => {
    const now = {u, T: lengths[0], bias: 0, at: +Object.keys(pulses)[0] || 1}
    let placed = {...pulses}, states = []
    const voice = RTX.voice('live-aside'), title = el('p', {className: 'live-pulses-title'}), words = el('p', {className: 'live-task'})
    const svg = el('svg', {class: 'live-pulses', role: 'img'})

    function draw() {
      const {T, at} = now, width = Math.max(300, Math.min(720, svg.clientWidth || 640))
      const box = {l: 52, r: width - 12, t: 10, b: HEIGHT - 62}
      states = RTX.response(now.u, placed, now.bias, T)
      const heights = Object.entries(placed).filter(([t]) => t <= T).map(([t, v]) => [+t, v])
      const top = Math.max(1, ...states.filter(Number.isFinite)) * 1.05, step = (box.r - box.l) / T, wide = Math.max(step, 6)
      const px = (t) => box.l + (t - 0.5) * step, py = (v) => box.b - (box.b - box.t) * v / top
      const text = (x, y, say, anchor = 'middle') => el('text', {x, y, 'text-anchor': anchor}, say)
      const ticks = RTX.linear(4)({from: 0, to: top}), marks = RTX.linear(width < 500 ? 4 : 6)({from: 1, to: T}).filter((t) => t >= 1)
      const stems = [...states].map((h, k) => h > 0 ? `M${px(k + 1).toFixed(1)} ${box.b}V${py(h).toFixed(1)}` : '').join('')
      const held = RTX.rest(now.u, now.bias)
      svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`)
      svg.replaceChildren(
        ...ticks.flatMap((v) => [
          el('path', {d: `M${box.l} ${py(v)}H${box.r}`, class: 'live-pulses-grid'}), text(box.l - 6, py(v) + 5, short(v), 'end')]),
        el('rect', {x: px(at) - wide / 2, y: box.t, width: wide, height: box.b - box.t + 22, class: 'live-pulses-at'}),
        held ? el('path', {d: `M${box.l} ${py(held)}H${box.r}`, class: 'live-pulses-rest'}) : '',
        el('path', {d: stems, class: 'live-pulses-stem', 'stroke-width': Math.max(1, Math.min(6, 0.6 * step))}),
        ...heights.map(([t, v]) => el('path', {class: 'live-pulses-mark', d: v > 0
          ? `M${px(t)} ${box.b + 4}l6 14h-12z` : `M${px(t)} ${box.b + 18}l6 -14h-12z`})),
        text(box.l - 6, box.b + 18, 'pulses', 'end'),
        ...marks.map((t) => text(px(t), box.b + 36, String(t))),
        text((box.l + box.r) / 2, HEIGHT - 6, 'step t'),
        el('text', {x: 12, y: (box.t + box.b) / 2, 'text-anchor': 'middle', transform: `rotate(-90 12 ${(box.t + box.b) / 2})`}, 'state h'))
      // A press in the picture places a pulse, or takes it away
      svg.onclick = (event) => {
        const place = svg.getBoundingClientRect(), x = (event.clientX - place.left) * width / place.width
        const t = Math.round((x - box.l) / step + 0.5)
        if (t >= 1 && t <= T) { where.set(t - 1); now.at = t; put(placed[t] ? 0 : 1) }
      }
    }
    function summary() {
      const {T, at, bias} = now, [low, high] = RTX.window(T, KEEP, GROW)
      const span = `To be heard over ${T} steps, |u| must lie above ${low.toFixed(4)} (a tenth is left) `
        + `and, so that nothing more than doubles, below ${high.toFixed(4)}.`
      const cut = now.u < 0 && !bias ? ' A neuron at rest cannot go below zero: what would be negative is cut off.' : ''
      if (!placed[at]) return `There is no pulse at step ${at}; the state there is ${short(states[at - 1])}. ${span}${cut}`
      const worth = RTX.worthOf(now.u, placed, bias, T, at), later = Math.min(T, at + 20)
      const says = later > at ? ` and ${short(worth[T - 1])} at step ${T}` : ''
      const left = `is worth ${short(worth[later - 1])} at step ${later}${later < T ? says : ''}`
      return `The pulse of step ${at}, ${short(placed[at])}, ${left}. ${span}${cut}`
    }
    function show(atOnce = false) {
      const can = now.u < 1
      held.querySelector('input').disabled = !can
      held.title = can ? '' : 'With u of 1 or more no bias can hold the neuron: it would run away.'
      if (!can && now.bias) { now.bias = 0; held.querySelector('input').checked = false }
      title.textContent = `u = ${short(now.u)}: ${fate(now.u)}`
      draw()
      words.textContent = summary()
      const at = Object.keys(placed).join(', ') || 'no step'
      svg.setAttribute('aria-label', `States of the neuron over ${now.T} steps, with pulses at ${at}. ${title.textContent}.`)
      voice.say(`${title.textContent}. ${words.textContent}`, atOnce)
    }
    function put(height) {
      if (height) placed[now.at] = height
      else delete placed[now.at]
      show(true)
    }
    const weight = RTX.range('recurrent weight u', WEIGHTS, WEIGHTS.indexOf(u), (v) => {
      now.u = v
      exact.value = v
      exact.removeAttribute('aria-invalid')
      show()
    }, (v) => minus(v.toFixed(3)))
    const allowed = el('span', {id: RTX.id('allowed')}, `from ${minus(-UP)} to ${UP}`)
    const exact = el('input', {type: 'number', min: -UP, max: UP, step: 'any', value: u, autocomplete: 'off', oninput: () => {
      const v = exact.valueAsNumber
      if (Number.isNaN(v)) return  // nothing is typed yet
      exact.setAttribute('aria-invalid', Math.abs(v) > UP)
      if (Math.abs(v) > UP) {
        words.textContent = `${minus(v)} is not taken: u may go ${allowed.textContent}. The picture still shows u = ${short(now.u)}.`
        return voice.say(words.textContent)
      }
      now.u = v
      weight.set(Math.round((v + UP) / FINE))
      show()
    }})
    exact.setAttribute('aria-describedby', allowed.id)
    let where = null
    const places = el('span')
    function aim() {
      where = RTX.range('at step', Array.from({length: now.T}, (_, k) => k + 1), now.at - 1, (t) => { now.at = t; show() })
      places.replaceChildren(where.label)
    }
    const kept = RTX.kept('placed', () => Object.entries(placed).map(([t, v]) => v === 1 ? t : `${t}-${Math.round(v * 100)}`).join('_'),
      (text) => {
        const parts = text.split('_').filter(Boolean).map((part) => /^(\d{1,4})(?:-(-?[1-9]\d{0,2}))?$/.exec(part))
        if (!parts.every((part) => part && part[1] >= 1 && part[1] <= Math.max(...lengths))) return false
        placed = Object.fromEntries(parts.map(([, t, v = 100]) => [+t, v / 100]))
        show(true)
      })
    const held = RTX.check('held up by a bias of 1', false, (on) => { now.bias = on ? 1 : 0; show(true) })
    const long = RTX.select('steps', Object.fromEntries(lengths.map((T) => [T, String(T)])), now.T, (T) => {
      now.T = +T
      now.at = Math.min(now.at, now.T)
      aim()
      show(true)
    })
    body.append(title, el('div', {className: 'live-controls'}, weight.label), svg, words,
      el('div', {className: 'live-controls'},
        el('div', {className: 'live-pulses-exact'}, el('label', {}, el('span', {}, 'exactly'), exact), allowed), long, held),
      el('div', {className: 'live-controls'}, places),
      el('div', {className: 'live-buttons'},
        RTX.button('Pulse up', () => put(1)), RTX.button('Pulse down', () => put(-1)), RTX.button('No pulse here', () => put(0)),
        RTX.button('Clear all', () => { placed = {}; show(true) })),
      voice.element, kept)
    aim()
    show(true)
    new ResizeObserver(() => requestAnimationFrame(draw)).observe(body)
  })
})
