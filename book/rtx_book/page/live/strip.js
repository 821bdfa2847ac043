// A strip of steps over which the reader draws: each has a level, a whole number. One tab stop; arrows move and change.
RTX.part('strip', (RTX) => {
  const {el} = RTX
  const TALL = 77, HEAD = 18, FOOT = 9, LEFT = 58, RIGHT = 12  // the lowest tick's text needs the foot

  // The places of n steps in a picture of this width
  function steps(width, n) {
    const step = (width - LEFT - RIGHT) / n
    const at = (x) => Math.max(0, Math.min(n - 1, Math.floor((x - LEFT) / step)))
    return {step, left: LEFT, right: width - RIGHT, x: (t) => LEFT + (t + 0.5) * step, at}
  }
  // A column behind a step, as high as the picture
  const column = ({x, step}, at, height) =>
    el('rect', {class: 'strip-at', x: x(at) - Math.max(step, 4) / 2, y: 0, width: Math.max(step, 4), height})

  // name; hint, the id of how to draw; say(level), in words; from and to, the lowest and the highest level; base, where bars
  // begin; ticks, pairs of a level and its text; mark(level), whether it is drawn as a mark. change(levels, at) gets the new
  // list and the step that was drawn, move(at) the step that is looked at; both then call show(levels, at, head).
  function strip({name, hint, say, from, to, base, ticks, mark = () => false, change, move}) {
    let levels = [], at = 0, last = null
    const svg = el('svg', {class: 'strip', role: 'slider', tabindex: 0, 'aria-label': name, 'aria-describedby': hint,
      'aria-valuemin': from, 'aria-valuemax': to, onkeydown: key,
      onpointerdown: press, onpointermove: drag, onpointerup: lift, onpointercancel: lift})
    const width = () => Math.max(280, Math.min(720, svg.clientWidth || 640))
    const inside = (level) => Math.max(from, Math.min(to, level))
    const y = (level) => HEAD + (TALL - HEAD - FOOT) * (to - level) / (to - from)
    const put = (next, t) => change(levels.map((level, s) => next.has(s) ? next.get(s) : level), t)

    // ---- the pointer: where it goes fast, the steps between lie on a line
    function spot(event) {
      const place = svg.getBoundingClientRect(), scale = width() / place.width, y = (event.clientY - place.top) * scale
      const level = inside(Math.round(to - (y - HEAD) * (to - from) / (TALL - HEAD - FOOT)))
      return {t: steps(width(), levels.length).at((event.clientX - place.left) * scale), level}
    }
    function press(event) {
      if (event.button) return
      svg.setPointerCapture(event.pointerId)
      last = null
      drag(event, true)
    }
    function drag(event, first = false) {
      if (!last && first !== true) return
      const now = spot(event), old = last ?? now, far = Math.abs(now.t - old.t), next = new Map()
      for (let k = 0; k <= far; k++) {
        const share = far ? k / far : 1
        next.set(old.t + Math.sign(now.t - old.t) * k, Math.round(old.level + share * (now.level - old.level)))
      }
      last = now
      put(next, now.t)
    }
    function lift() { last = null }

    // ---- the keyboard: with Shift the arrows take the level along
    function key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return
      const to_ = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: levels.length - 1}[event.key]
      const by = {ArrowUp: 1, ArrowDown: -1, PageUp: 5, PageDown: -5}[event.key]
      const t = Math.max(0, Math.min(levels.length - 1, to_ ?? at))
      if (to_ !== undefined && event.shiftKey) put(new Map([[t, levels[at]]]), t)
      else if (to_ !== undefined) move(t)
      else if (by) put(new Map([[at, inside(levels[at] + by)]]), at)
      else if (['0', 'Delete', 'Backspace'].includes(event.key)) put(new Map([[at, base]]), at)
      else return
      event.preventDefault()
    }

    function show(given, where, head) {
      levels = given
      at = where
      const wide = width(), place = steps(wide, levels.length)
      const bar = (level, t) => `M${place.x(t).toFixed(1)} ${y(base).toFixed(1)}V${y(level).toFixed(1)}`
      const bars = (name, which) => el('path', {class: name, 'stroke-width': Math.max(2, 0.66 * place.step),
        d: levels.map((level, t) => level !== base && mark(level) === which ? bar(level, t) : '').join('')})
      svg.setAttribute('viewBox', `0 0 ${wide} ${TALL}`)
      svg.setAttribute('aria-valuenow', levels[at])
      svg.setAttribute('aria-valuetext', `step ${at + 1} of ${levels.length}: ${say(levels[at])}`)
      svg.replaceChildren(column(place, at, TALL),
        ...ticks.flatMap(([level, text]) => [
          el('path', {class: 'strip-grid', d: `M${place.left} ${y(level)}H${place.right}`}),
          el('text', {x: place.left - 6, y: y(level) + 5, 'text-anchor': 'end'}, text)]),
        bars('strip-bars', false), bars('strip-mark', true), el('text', {class: 'strip-head', x: place.left, y: 13}, head))
    }
    return {svg, show}
  }
  RTX.strip = Object.assign(strip, {steps, column})
})
