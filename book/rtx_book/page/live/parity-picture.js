// All steps at once: a lane for each model with a bar where it is wrong, and below, in the same steps, one unit's state.
RTX.part('parity-picture', (RTX) => {
  const {el} = RTX
  const LANE = 32, BAR = 9, TALL = 138, LEFT = 46
  const text = (x, y, say, anchor = 'start') => el('text', {x, y, 'text-anchor': anchor}, say)
  const path = (d, name) => el('path', {d, class: `parity-${name}`})
  const tick = (v) => String(+v.toPrecision(3)).replace('-', '−')

  // lanes: [{name, verdict, wrong}]; states: of the unit; odd: 0 or 1 of each step; at: the chosen step, from 1; trained:
  // steps of the training; pick(step) is called when the reader presses one; look: the class of the unit's model
  function parityPicture(svg, {lanes, states, odd, at, trained, pick, look}) {
    const n = odd.length, width = Math.max(300, Math.min(760, svg.clientWidth || 640)), right = width - 10
    const top = lanes.length * LANE + 20, foot = top + TALL - 40, height = top + TALL
    const step = (right - LEFT) / n, px = (t) => LEFT + (t - 0.5) * step
    const least = Math.min(0, ...states), most = Math.max(0, ...states), room = 0.08 * (most - least || 1)
    const y = {from: least - room, to: most + room}, py = (v) => foot - (foot - top) * (v - y.from) / (y.to - y.from)
    const ticks = RTX.linear(4)(y), end = LEFT + trained * step
    const round = n > 2 ? RTX.linear(width < 500 ? 4 : 6)({from: 1, to: n}) : [n]
    const marks = new Set([1, ...round.filter((t) => t > 0.06 * n && Number.isInteger(t))])
    const size = Math.max(1.7, Math.min(4, 0.55 * step))
    const half = (way) => `a${size} ${size} 0 1 0 ${way * 2 * size} 0`
    const spot = (t, x = 0) => `${(px(t + 1) + x).toFixed(1)} ${py(states[t]).toFixed(1)}`
    const disc = (t) => `M${spot(t)}h0`, ring = (t) => `M${spot(t, -size)}${half(1)}${half(-1)}`
    const all = (which, form) => odd.map((is, t) => is === which ? form(t) : '').join('')
    const filled = path(all(1, disc), 'odd')
    filled.setAttribute('stroke-width', 2 * size + 1)
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
    svg.replaceChildren(
      el('rect', {class: 'parity-at', x: px(at) - Math.max(step, 4) / 2, y: 0, width: Math.max(step, 4), height: foot}),
      end < right - 1 ? path(`M${end} 4V${foot}`, 'trained') : '',
      ...lanes.flatMap(({name, verdict, wrong}, k) => {
        const base = k * LANE + 20
        const bar = (t) => `M${(LEFT + t * step).toFixed(2)} ${base}h${step.toFixed(2)}v${BAR}h${-step.toFixed(2)}z`
        return [text(LEFT, base - 5, name), text(right, base - 5, width < 500 ? verdict.split(',')[0] : verdict, 'end'),
          path(`M${LEFT} ${base + BAR}H${right}`, 'lane'), path(wrong.map((is, t) => is ? bar(t) : '').join(''), 'bars')]
      }),
      ...ticks.flatMap((v) => [path(`M${LEFT} ${py(v)}H${right}`, 'grid'), text(LEFT - 6, py(v) + 5, tick(v), 'end')]),
      el('path', {d: odd.map((_, t) => `${t ? 'L' : 'M'}${spot(t)}`).join(''), class: `parity-line live-line ${look}`}),
      path(all(0, ring), 'even'), filled,
      ...[...marks].map((t) => text(px(t), foot + 17, String(t), 'middle')),
      text((LEFT + right) / 2, height - 5, 'step', 'middle'))
    svg.onclick = (event) => {
      const place = svg.getBoundingClientRect(), x = (event.clientX - place.left) * width / place.width
      pick(Math.max(1, Math.min(n, Math.ceil((x - LEFT) / step))))
    }
  }
  RTX.parityPicture = parityPicture
})
