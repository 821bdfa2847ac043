// "A leaky integrator": one neuron of a state space model. The reader draws what comes in, and how much time passes at
// every step; the state and what is read from it are there at once.
RTX.part('widget-integrator', (RTX) => {
  const {el, range, radios, button, more, voice, integrate, discretised, strip} = RTX
  const T = 64, LOUD = 6, TALL = 148, DECADE = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]
  const DELTAS = [-3, -2, -1, 0].flatMap((e) => DECADE.map((m) => +(m * 10 ** e).toPrecision(3))).filter((d) => d <= 3)
  const LEAST = DELTAS.indexOf(0.01), SLOW = DELTAS.indexOf(0.001), FAST = DELTAS.indexOf(3)
  const RULES = {exact: 'exact (zero-order hold)', euler: 'Euler’s, for both', mamba: 'Mamba’s code: a exact, b = Δ B'}
  const tenths = (from, to) => Array.from({length: 10 * (to - from) + 1}, (_, k) => from + k / 10)
  const nearest = (list, v) => list.reduce((best, one, k) => Math.abs(one - v) < Math.abs(list[best] - v) ? k : best, 0)
  const minus = (text) => text.replaceAll('-', '−')
  const short = (v) => minus(v !== 0 && (Math.abs(v) < 1e-4 || Math.abs(v) >= 1e4)
    ? v.toExponential(1).replace('e+', 'e') : String(+v.toPrecision(3)))
  const two = (v) => Math.abs(v) >= 1e4 ? short(v) : minus((Math.abs(v) < 0.005 ? 0 : v).toFixed(2))
  const percent = (v) => `${v < 0.0005 ? 0 : +(100 * v).toPrecision(v > 0.99 ? 3 : 2)}\u00a0%`
  const complex = ([x, y]) => y ? `${short(x)} ${y < 0 ? '−' : '+'} ${short(Math.abs(y))}i` : short(x)
  const count = (k) => `${k < 100 ? +k.toPrecision(2) : Math.round(k).toLocaleString('en')} steps`
  const loud = (v) => Math.abs(v) >= LOUD
  const apart = (u) => [true, false].map((is) => u.map((v) => loud(v) === is ? v / 10 : 0))  // the marks, and all the rest

  // What becomes of a state when all steps have size delta, in words
  function fate(how, delta) {
    const {a: [x, y]} = discretised(how.rule, delta, how), size = Math.hypot(x, y)
    const factor = short(y ? size : x), exact = short(Math.exp(-delta * how.alpha))
    const says = how.rule === 'euler' ? `Euler’s factor ${y ? 'has size' : 'is'} ${factor} (exact: ${exact})`
      : `${y ? '|a|' : 'a'} = ${factor}`
    const half = Math.LN2 / Math.abs(Math.log(size)), round = count(2 * Math.PI / Math.abs(Math.atan2(y, x)))
    const turns = y ? `; it goes round once in ${round}` : x < 0 ? ', with a sign that alternates' : ''
    const becomes = Math.abs(size - 1) < 1e-9 ? 'nothing is forgotten'
      : size > 1 ? `it grows, to twice as much after ${count(half)}`
        : half < 1 ? `${percent(size)} of the state is left after one step`
          : `half of what came in is forgotten after ${count(half)}`
    return `${says}: ${becomes}${turns}.`
  }

  // options: what stands there at first. input: 'pulse', 'step' or 'marks'; delta: a step size, or 'marks', large where
  // the input is loud and small elsewhere; rule; A, omega.
  RTX.widget('integrator', (body, {input = 'step', delta = 0.1, rule = 'exact', A = -1, omega = 0}) => {
    const chance = RTX.random(0), said = voice('live-aside'), how = {alpha: -A, omega, B: 1, C: 1, rule}
    const now = {at: 19, own: false, size: nearest(DELTAS, delta === 'marks' ? 0.1 : delta)}
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

    // ---- what the reader draws on
    const move = (at) => { now.at = at; show() }
    const hint = el('p', {className: 'integrator-hint', id: RTX.id('draw')}, 'Draw on the strips; a press in the picture looks at '
      + 'a step. By keyboard: arrows move along a strip and change the value, with Shift they take it along, 0 removes it.')
    const given = strip({name: 'input u at each step', hint: hint.id, move, from: -10, to: 10, base: 0,
      say: (v) => `u is ${minus(String(v / 10))}`, ticks: [[10, '1'], [0, '0'], [-10, '−1']],
      mark: (v) => loud(v) && u.some((own) => own && !loud(own)),
      change: (levels, at) => { u = levels; move(at) }})
    const paced = strip({name: 'step size Δ at each step', hint: hint.id, move, from: SLOW, to: FAST, base: SLOW,
      say: (v) => `Δ is ${DELTAS[v]}`,
      ticks: [0.01, 0.1, 1].map((d) => [DELTAS.indexOf(d), String(d)]),
      change: (levels, at) => { drawn = levels; own(true); move(at) }})
    const picture = el('svg', {class: 'integrator-picture', role: 'img', onclick({clientX}) {
      const {left, width} = picture.getBoundingClientRect(), own = picture.viewBox.baseVal.width
      move(strip.steps(own, T).at((clientX - left) * own / width))
    }})
    const title = el('strong'), words = el('span')

    function draw(steps) {
      const width = Math.max(280, Math.min(720, picture.clientWidth || 640)), place = strip.steps(width, T)
      const box = {t: 24, b: TALL - 40}, all = steps.flatMap(({h, y}) => [h[0], y])
      const reach = Math.max(...all.map(Math.abs), 0.05), power = 10 ** Math.floor(Math.log10(reach))
      const top = [1, 1.5, 2, 3, 5, 7, 10].find((k) => k * power >= 0.999 * reach) * power
      const low = all.some((v) => v < -1e-9) ? -top : 0
      const py = (v) => box.b - (box.b - box.t) * (v - low) / (top - low)
      const text = (x, y, say, anchor = 'start') => el('text', {x, y, 'text-anchor': anchor}, say)
      const line = (name, of) => el('path', {class: `integrator-${name}`,
        d: steps.map((one, t) => `${t ? 'L' : 'M'}${place.x(t).toFixed(1)} ${py(of(one)).toFixed(1)}`).join('')})
      const legend = (name, x, say) => [el('path', {class: `integrator-${name}`, d: `M${x} 9h26`}), text(x + 32, 14, say)]
      const first = Math.min(place.left, place.right - 262)  // on a narrow screen the second would not fit
      picture.setAttribute('viewBox', `0 0 ${width} ${TALL}`)
      picture.replaceChildren(strip.column(place, now.at, box.b),
        ...[low, (low + top) / 2, top].flatMap((v) => [
          el('path', {class: 'strip-grid', d: `M${place.left} ${py(v)}H${place.right}`}),
          text(place.left - 6, py(v) + 5, short(v), 'end')]),
        line('h', ({h}) => h[0]), line('y', ({y}) => y),
        ...legend('h', first, how.omega ? 'state h, its real part' : 'state h'),
        ...legend('y', first + 182, 'output y'),
        ...[1, 16, 32, 48, 64].map((t) => text(place.x(t - 1), box.b + 17, String(t), 'middle')),
        text((place.left + place.right) / 2, TALL - 5, 'step t', 'middle'))
    }
    function show(atOnce = false) {
      const {at} = now, levels = sizes(), deltas = levels.map((k) => DELTAS[k])
      const steps = integrate(u.map((v) => v / 10), deltas, how), {a, b, h, y} = steps[at], before = at ? steps[at - 1].h[0] : 0
      given.show(u, at, 'Input u: draw')
      paced.show(levels, at, now.own ? 'Step size Δ: yours' : 'Step size Δ: the same at every step')
      draw(steps)
      const left = steps.slice(at + 1).reduce((share, one) => share * Math.hypot(...one.a), 1)
      title.textContent = now.own ? `Step ${at + 1}, Δ = ${deltas[at]}: of the state ${percent(Math.hypot(...a))} stays, of the input `
        + `${percent(Math.hypot(...b))} is written.` : fate(how, deltas[0])
      const sum = a[1] || b[1] ? ` with a = ${complex(a)} and b = ${complex(b)}: ${complex(h)}`
        : ` = ${short(a[0])} × ${two(before)} + ${short(b[0])} × ${two(u[at] / 10)} = ${two(h[0])}`
      const kept = `Of what it wrote, ${left > 1 ? `${short(left)} times as much` : percent(left)} is left at step ${T}.`
      const parts = apart(u), [marks, rest] = parts.map((part) => short(integrate(part, deltas, how)[T - 1].h[0]))
      const both = parts.every((part) => part.some(Boolean))
      words.textContent = ` Step ${at + 1}: h = a h + b u${sum}; y = ${two(y)}. ${kept}`
        + (both ? ` The last state is ${short(steps[T - 1].h[0])}: ${marks} from the marks, ${rest} from all the rest.` : '')
      picture.setAttribute('aria-label', `State and output over ${T} steps. ${title.textContent}${words.textContent}`)
      said.say(`${title.textContent}${words.textContent}`, atOnce)
    }

    // ---- one click
    const put = (name) => { u = INPUTS[name](); show(true) }
    function own(is) {
      now.own = is
      mode.querySelector(`[value="${is ? 'own' : 'same'}"]`).checked = true
    }
    const pace = (levels) => { drawn = levels; own(true); show(true) }
    const write = () => pace(u.map((v) => loud(v) ? FAST : SLOW))
    const mode = radios('Δ:', {same: 'the same at every step', own: 'yours'}, 'same', (value) => { own(value === 'own'); show(true) })
    const set = (name) => (v) => { how[name] = v; show() }
    const slider = (text, name, values, say = short) => range(text, values, nearest(values, how[name]), set(name), say).label
    const size = range('step size Δ', DELTAS.slice(LEAST), Math.max(0, now.size - LEAST), (d) => {
      now.size = DELTAS.indexOf(d)
      own(false)
      show()
    })
    body.append(given.svg, paced.svg, picture,
      el('div', {className: 'live-buttons integrator-inputs'}, mode, button('All the same', () => pace(Array(T).fill(now.size))),
        button('Write only the marks', write)),
      el('div', {className: 'live-buttons integrator-inputs'}, button('Pulse', () => put('pulse')), button('Step', () => put('step')),
        button('Noise, two marks', () => put('marks')), button('Nothing', () => { u = Array(T).fill(0); show(true) })),
      el('p', {className: 'live-task integrator-told'}, title, words), said.element,
      more('Rates, rules, and how to draw by keyboard', el('div', {className: 'live-controls integrator-sliders'},
        size.label, slider('rate A', 'alpha', tenths(0, 4).reverse(), (v) => short(-v)), slider('turn ω', 'omega', tenths(0, 4)),
        slider('write B', 'B', tenths(-2, 2)), slider('read C', 'C', tenths(-2, 2))),
      radios('Rule:', RULES, rule, set('rule')), hint))
    body.append(  // behind the controls, since a link brings back one after the other
      RTX.keptDrawing('input', T, 20, () => u.map((v) => v + 10), (levels) => { u = levels.map((v) => v - 10); show() }),
      RTX.keptDrawing('pace', T, FAST, () => now.own ? drawn : null, pace))
    put(input)
    if (delta === 'marks') write()
    new ResizeObserver(() => requestAnimationFrame(() => show())).observe(body)
  })
})
