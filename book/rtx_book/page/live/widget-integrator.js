// "A leaky integrator": one neuron of a state space model. The reader draws what comes in, and how much time passes at
// every step; the state and what is read from it are there at once.
RTX.part('widget-integrator', (RTX) => {
  const {el, range, radios, button, voice, integrate, discretised, strip} = RTX
  const T = 64, LOUD = 6, TALL = 190, MANTISSAS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]
  const DELTAS = [-3, -2, -1, 0].flatMap((e) => MANTISSAS.map((m) => +(m * 10 ** e).toPrecision(3))).filter((d) => d <= 3)
  const LEAST = DELTAS.indexOf(0.01), SLOW = DELTAS.indexOf(0.001), FAST = DELTAS.indexOf(3)
  const RULES = {exact: 'exact (zero-order hold)', euler: 'Euler’s, for both', mamba: 'Mamba’s code: a exact, b = Δ B'}
  const tenths = (from, to) => Array.from({length: Math.round(10 * (to - from)) + 1}, (_, k) => from + k / 10)
  const some = (from, to) => tenths(from, to).map((v) => +v.toFixed(1))
  const minus = (text) => text.replaceAll('-', '−')
  const short = (v) => minus(v !== 0 && (Math.abs(v) < 0.001 || Math.abs(v) >= 1e4)
    ? v.toExponential(1).replace('e+', 'e') : String(+v.toPrecision(3)))
  const two = (v) => Math.abs(v) >= 1e4 ? short(v) : minus((Math.abs(v) < 0.005 ? 0 : v).toFixed(2))
  const percent = (v) => v < 0.0005 ? 'nothing' : `${+(100 * v).toPrecision(2)}\u00a0%`
  const complex = ([x, y]) => y ? `${short(x)} ${y < 0 ? '−' : '+'} ${short(Math.abs(y))}i` : short(x)
  const count = (k) => `${k < 100 ? +k.toPrecision(2) : Math.round(k).toLocaleString('en')} steps`
  const apart = (u) => [true, false].map((loud) => u.map((v) => (Math.abs(v) >= LOUD) === loud ? v / 10 : 0))

  // What becomes of a state in a step of size delta, in words
  function fate(how, delta) {
    const {a: [x, y]} = discretised(how.rule, delta, how), size = Math.hypot(x, y)
    const by_rule = how.rule === 'euler', name = y ? 'size' : 'factor'
    const says = by_rule ? `Euler’s factor ${y ? 'has size' : 'is'} ${short(y ? size : x)}` : `${y ? '|a|' : 'a'} = ${short(y ? size : x)}`
    const exact = by_rule ? ` (exact: ${name} ${short(Math.exp(-delta * how.alpha))})` : ''
    const half = Math.LN2 / Math.abs(Math.log(size)), turn = 2 * Math.PI / Math.abs(Math.atan2(y, x))
    const turns = !y ? '' : turn <= 2.05 ? '; it turns by half a circle in a step' : `; it goes round once in ${count(turn)}`
    const signs = !y && x < 0 ? ', with a sign that alternates' : ''
    if (Math.abs(size - 1) < 1e-9) return `${says}${exact}: nothing is forgotten${signs}${turns}.`
    if (size > 1) return `${says}${exact}: it grows, to twice as much after ${count(half)}${signs}${turns}.`
    if (half < 1) return `${says}${exact}: ${percent(size)} of the state is left after one step${signs}${turns}.`
    return `${says}${exact}: half of what came in is forgotten after ${count(half)}${signs}${turns}.`
  }

  // options: what stands there at first. input: 'pulse', 'step' or 'marks'; delta: a step size, or 'marks', large where
  // the input is loud and small elsewhere; rule; A, omega.
  RTX.widget('integrator', (body, {input = 'step', delta = 0.1, rule = 'exact', A = -1, omega = 0}) => {
    const chance = RTX.random(0), said = voice(), near = (list, v) => list.reduce((best, one) => Math.abs(one - v) < Math.abs(best - v) ? one : best)
    const how = {alpha: -A, omega, B: 1, C: 1, rule}, now = {at: 19, own: false, size: DELTAS.indexOf(near(DELTAS, delta === 'marks' ? 0.1 : delta))}
    let u = [], drawn = Array(T).fill(now.size)
    const INPUTS = {
      pulse: () => Array.from({length: T}, (_, t) => t === 7 ? 10 : 0),
      step: () => Array.from({length: T}, (_, t) => t >= 7 && t < 40 ? 10 : 0),
      marks() {
        const all = Array.from({length: T}, () => chance.below(7) - 3)
        all[8 + chance.below(16)] = 10
        all[36 + chance.below(16)] = -8
        return all
      },
    }
    const sizes = () => now.own ? drawn : Array(T).fill(now.size)
    const loud = () => u.flatMap((v, t) => Math.abs(v) >= LOUD ? [t] : [])

    // ---- what the reader draws on
    const move = (at) => { now.at = at; show() }
    const given = strip({name: 'input u', say: (v) => `u is ${minus(String(v / 10))}`, from: -10, to: 10, base: 0, move,
      ticks: [[10, '1'], [0, '0'], [-10, '−1']], mark: (v) => Math.abs(v) >= LOUD,
      change: (levels, at) => { u = levels; move(at) }})
    const paced = strip({name: 'step size Δ', say: (v) => `Δ is ${DELTAS[v]}`, from: SLOW, to: FAST, base: SLOW, move,
      ticks: [0.01, 0.1, 1].map((d) => [DELTAS.indexOf(d), String(d)]),
      change: (levels, at) => { drawn = levels; own(true); move(at) }})
    const picture = el('svg', {class: 'integrator-picture', role: 'img'})
    const title = el('p', {className: 'integrator-title'}), words = el('p', {className: 'live-task integrator-words'})

    function draw(steps) {
      const width = Math.max(280, Math.min(720, picture.clientWidth || 640)), place = strip.steps(width, T)
      const box = {t: 24, b: TALL - 40}, all = steps.flatMap(({h, y}) => [h[0], y])
      const reach = Math.max(...all.map(Math.abs), 0.05), power = 10 ** Math.floor(Math.log10(reach))
      const top = [1, 1.5, 2, 3, 5, 7, 10].find((k) => k * power >= 0.999 * reach) * power, low = all.some((v) => v < -1e-9) ? -top : 0
      const py = (v) => box.b - (box.b - box.t) * (v - low) / (top - low)
      const text = (x, y, say, anchor = 'start') => el('text', {x, y, 'text-anchor': anchor}, say)
      const line = (name, of) => el('path', {class: `integrator-${name}`,
        d: steps.map((one, t) => `${t ? 'L' : 'M'}${place.x(t).toFixed(1)} ${py(of(one)).toFixed(1)}`).join('')})
      const legend = (name, x, say) => [el('path', {class: `integrator-${name}`, d: `M${x} 9h26`}), text(x + 32, 14, say)]
      picture.setAttribute('viewBox', `0 0 ${width} ${TALL}`)
      picture.replaceChildren(strip.column(place, now.at, box.b),
        ...[low, (low + top) / 2, top].flatMap((v) => [
          el('path', {class: 'strip-grid', d: `M${place.left} ${py(v)}H${place.right}`}), text(place.left - 6, py(v) + 5, short(v), 'end')]),
        line('h', ({h}) => h[0]), line('y', ({y}) => y),
        ...legend('h', place.left, how.omega ? 'state h, its real part' : 'state h'), ...legend('y', place.left + 190, 'output y'),
        ...[1, 16, 32, 48, 64].map((t) => text(place.x(t - 1), box.b + 17, String(t), 'middle')),
        text((place.left + place.right) / 2, TALL - 5, 'step t', 'middle'))
    }
    function show() {
      const {at} = now, levels = sizes(), deltas = levels.map((k) => DELTAS[k])
      const steps = integrate(u.map((v) => v / 10), deltas, how), {a, b, h, y} = steps[at], before = at ? steps[at - 1].h : [0, 0]
      given.show(u, at, 'Input u: draw')
      paced.show(levels, at, now.own ? 'Step size Δ: yours' : 'Step size Δ: the same at every step')
      draw(steps)
      const left = steps.slice(at + 1).reduce((share, one) => share * Math.hypot(...one.a), 1)
      title.textContent = now.own ? `Step ${at + 1}, Δ = ${DELTAS[levels[at]]}: ${fate(how, deltas[at])}` : fate(how, deltas[0])
      const [marks, rest] = apart(u).map((part) => integrate(part, deltas, how)[T - 1].h[0]), quiet = u.some((v) => v && Math.abs(v) < LOUD)
      words.textContent = (a[1] || b[1] ? `Step ${at + 1}: h = a h + b u with a = ${complex(a)} and b = ${complex(b)}; h = ${complex(h)}, y = ${two(y)}.`
        : `Step ${at + 1}: h = a h + b u = ${short(a[0])} × ${two(before[0])} + ${short(b[0])} × ${two(u[at] / 10)} = ${two(h[0])}; y = C h = ${two(y)}.`)
        + ` Of what it wrote, ${left > 1 ? `${short(left)} times as much` : percent(left)} is left at step ${T}.`
        + (loud().length && quiet ? ` The last state is ${two(steps[T - 1].h[0])}: ${two(marks)} from the marks, ${two(rest)} from all the rest.` : '')
      picture.setAttribute('aria-label', `State and output over ${T} steps. ${title.textContent} ${words.textContent}`)
      said.say(`${title.textContent} ${words.textContent}`, false)
    }

    // ---- one click
    const put = (name) => { u = INPUTS[name](); show() }
    function own(is) {
      now.own = is
      mode.querySelector(`[value="${is ? 'own' : 'same'}"]`).checked = true
    }
    const pace = (levels) => { drawn = levels; own(true); show() }
    const write = () => pace(u.map((v) => Math.abs(v) >= LOUD ? FAST : SLOW))
    const mode = radios('Δ:', {same: 'the same at every step', own: 'yours'}, 'same', (value) => { own(value === 'own'); show() })
    const set = (name) => (v) => { how[name] = v; show() }
    const slider = (text, name, values, say) => range(text, values, values.indexOf(near(values, how[name])), set(name), say).label
    const rates = some(0, 4).reverse()
    body.append(
      el('div', {className: 'live-buttons'}, button('Pulse', () => put('pulse')), button('Step', () => put('step')),
        button('Noise, two marks', () => put('marks')), button('Nothing', () => { u = Array(T).fill(0); show() })),
      given.svg,
      el('div', {className: 'live-buttons'}, mode, button('All the same', () => pace(Array(T).fill(now.size))),
        button('Write only the marks', write)),
      paced.svg, title, picture, words,
      el('div', {className: 'live-controls integrator-sliders'},
        range('step size Δ', DELTAS.slice(LEAST), Math.max(0, now.size - LEAST), (d) => { now.size = DELTAS.indexOf(d); own(false); show() }).label,
        slider('rate A', 'alpha', rates, (v) => short(-v)), slider('turn ω', 'omega', some(0, 4), short),
        slider('write B', 'B', some(-2, 2), short), slider('read C', 'C', some(-2, 2), short)),
      radios('Rule:', RULES, rule, set('rule')), said.element)
    said.element.classList.add('live-aside')
    put(input)
    if (delta === 'marks') write()
    new ResizeObserver(() => requestAnimationFrame(show)).observe(body)
  })
})
