// A plane of vectors that start at 0. Those that the reader may move have a ring around the tip, which is a slider.
RTX.part('query-plane', (RTX) => {
  const {el} = RTX
  const SIDE = 300, MID = SIDE / 2, STEP = 0.5, FINE = 0.1, GRIP = 22
  const KEYS = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}
  const fixed = (v) => +(Math.round(v / FINE) * FINE).toFixed(1)

  // xlabel: what left and right mean; ylabel: down and up; xlim, which is ylim: the largest numbers
  RTX.vectorPlane = ({title, xlabel, ylabel, xlim: [, far]}) => {
    const [left, right, down, up] = [xlabel, ylabel].flatMap((label) => label.split(' ← → '))
    const unit = (MID - 8) / far, lines = el('g'), names = el('g'), handles = el('g')
    const px = (x) => MID + unit * x, py = (y) => MID - unit * y
    const ticks = Array.from({length: 2 * Math.floor(far) + 1}, (_, i) => i - Math.floor(far)).filter(Boolean)
    const end = (x, y, anchor, say) => el('text', {x, y, 'text-anchor': anchor, class: 'query-end'}, say)
    const svg = el('svg', {class: 'query-plane', viewBox: `0 0 ${SIDE} ${SIDE}`},
      el('path', {class: 'query-grid', d: ticks.map((v) => `M${px(v)} 0V${SIDE}M0 ${py(v)}H${SIDE}`).join('')}),
      el('path', {class: 'query-axes', d: `M${MID} 0V${SIDE}M0 ${MID}H${SIDE}`}),
      end(SIDE - 3, MID + 15, 'end', right), end(3, MID - 5, 'start', left),
      end(MID + 6, 13, 'start', up), end(MID + 6, SIDE - 5, 'start', down), lines, names, handles)
    const clamp = (v) => Math.max(-far, Math.min(far, fixed(v)))

    // Rings may lie over one another: the nearest tip is taken
    let held = null
    const tips = [], place = ({clientX, clientY}) => {
      const {left, top, width} = svg.getBoundingClientRect(), scale = SIDE / width
      return [(scale * (clientX - left) - MID) / unit, (MID - scale * (clientY - top)) / unit]
    }
    handles.addEventListener('pointerdown', (event) => {
      const [x, y] = place(event), far = ({at}) => Math.hypot(at[0] - x, at[1] - y)
      const tip = tips.reduce((best, one) => far(one) < far(best) ? one : best)
      held = {tip, by: [tip.at[0] - x, tip.at[1] - y]}
      event.preventDefault()
      tip.handle.focus()
      tip.handle.setPointerCapture(event.pointerId)
    })
    handles.addEventListener('pointermove', (event) => {
      const [x, y] = place(event)
      if (held) held.tip.go(x + held.by[0], y + held.by[1])
    })
    for (const last of ['pointerup', 'pointercancel']) handles.addEventListener(last, () => { held = null })

    // name, written at the tip; about: for the ear, where the reader may move it: move([x, y])
    function add({name, look, about, move}) {
      const hot = look === 'query-hot', line = el('path', {class: `query-line ${look}`}), head = el('path', {class: `query-head ${look}`})
      const text = el('text', {class: 'query-name'}, name)
      const rings = [GRIP, 10].map((r, i) => el('circle', {r, class: i ? 'query-ring' : 'query-reach'}))
      const handle = move && el('g', {class: `query-handle ${look}`, role: 'slider', tabindex: 0, 'aria-label': about,
        'aria-roledescription': 'vector', 'aria-valuemin': -far, 'aria-valuemax': far}, rings)
      let now = [0, 0]
      const go = (x, y) => move([clamp(x), clamp(y)])
      if (move) {
        tips.push({handle, go, get at() { return now }})
        handle.addEventListener('keydown', (event) => {
          const way = KEYS[event.key], step = event.shiftKey ? FINE : STEP
          if (!way || event.ctrlKey || event.altKey || event.metaKey) return
          event.preventDefault()
          go(now[0] + step * way[0], now[1] + step * way[1])
        })
        handles.append(handle)
      }
      lines.append(line, head)
      names.append(text)

      // weight: how thick, from 0 to 1. say: what the slider says
      return function put(at, {weight = 0.3, say = ''} = {}) {
        const [x, y] = [px(at[0]), py(at[1])], size = Math.hypot(x - MID, y - MID), thick = 1.5 + 5 * weight
        const [cos, sin] = size ? [(x - MID) / size, (y - MID) / size] : [0, 0], long = Math.min(7 + thick, size), wide = 3 + thick / 1.6
        now = at
        line.setAttribute('d', `M${MID} ${MID}L${x - long * cos} ${y - long * sin}`)
        line.setAttribute('stroke-width', thick)
        const [bx, by] = [x - long * cos, y - long * sin]
        head.setAttribute('d', size > 1 ? `M${x} ${y}L${bx - wide * sin} ${by + wide * cos}L${bx + wide * sin} ${by - wide * cos}Z` : '')
        // Beside the tip; what is asked or answered higher, and on the left of an upright arrow
        const left = Math.abs(cos) < 0.35 ? hot : cos < 0
        text.setAttribute('text-anchor', left ? 'end' : 'start')
        text.setAttribute('x', x + (left ? -13 : 13))
        text.setAttribute('y', y + 6 * sin + (hot ? -4 : 4))
        if (!handle) return
        handle.setAttribute('transform', `translate(${x} ${y})`)
        handle.setAttribute('aria-valuenow', at[0])
        handle.setAttribute('aria-valuetext', say)
      }
    }
    return {add, figure: el('div', {className: 'query-side'}, el('p', {className: 'query-title'}, title), svg)}
  }
})
