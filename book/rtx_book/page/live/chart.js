// A chart of lines, in units of its own, that shrinks with the page. Colours and dashes are classes of live.css.
RTX.part('chart', (RTX) => {
  const {el} = RTX
  const UP = {'-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹'}
  const LEAST = 1e-300, POINTS = 400, APART = 15

  // About n round numbers from a.from to a.to.
  const linear = (n) => (a) => {
    const raw = (a.to - a.from) / n, power = 10 ** Math.floor(Math.log10(raw))
    const step = power * [1, 2, 5, 10].find((many) => many * power >= raw * (1 - 1e-9)), out = []
    for (let i = Math.ceil(a.from / step - 1e-9); i * step <= a.to + step * 1e-6; i++) out.push(+(i * step).toPrecision(6))
    return out
  }
  // A number as a power of ten: 1e-12 is 10⁻¹².
  const power = (exponent) => exponent === 0 ? '1' : `10${[...String(exponent)].map((sign) => UP[sign]).join('')}`
  // About n powers of ten, for a logarithmic axis.
  const decades = (n = 5) => (a) => {
    const from = Math.ceil(Math.log10(a.from) - 1e-9), to = Math.floor(Math.log10(a.to) + 1e-9)
    const step = [1, 2, 3, 5, 6, 10, 20, 30, 50].find((s) => (to - from) / s <= n) || 100, out = []
    for (let e = Math.ceil(from / step) * step; e <= to; e += step) out.push([10 ** e, power(e)])
    return out
  }

  // `right` is the room for the names at the lines' ends. x and y: {from, to, log, label, ticks}; ticks(axis) gives
  // numbers, or pairs of a number and its text. After a change of x or y, `frame()`, then every `line` again.
  // `line(key, xs, ys, {cls, name})` draws, or draws anew; where a value is no finite number the line breaks.
  // `settle()` moves the names at the lines' ends apart. `drop(key)` takes a line away.
  function chart({width = 400, height = 250, right = 70, x, y, alt}) {
    const box = {l: 64, t: 12, r: width - right, b: height - 44}
    const svg = el('svg', {viewBox: `0 0 ${width} ${height}`, class: 'live-chart', role: 'img', 'aria-label': alt})
    const grid = el('g', {class: 'live-grid'}), lines = el('g'), names = el('g', {class: 'live-names'})
    svg.append(grid, lines, names)
    const share = (v, a) => a.log
      ? Math.log(Math.max(v, LEAST) / a.from) / Math.log(a.to / a.from) : (v - a.from) / (a.to - a.from)
    const inside = (v, a) => Math.min(1.02, Math.max(-0.02, share(v, a)))
    const px = (v) => +(box.l + (box.r - box.l) * inside(v, x)).toFixed(1)
    const py = (v) => +(box.b - (box.b - box.t) * inside(v, y)).toFixed(1)

    function frame() {
      const text = (say, left, top, anchor) => el('text', {x: left, y: top, 'text-anchor': anchor}, say)
      const pairs = (a) => (a.ticks || (a.log ? decades() : linear(4)))(a).map((t) => Array.isArray(t) ? t : [t, String(t)])
      const middle = (box.t + box.b) / 2
      grid.replaceChildren(
        ...pairs(x).flatMap(([v, say]) => [el('path', {d: `M${px(v)} ${box.t}V${box.b}`}), text(say, px(v), box.b + 17, 'middle')]),
        ...pairs(y).flatMap(([v, say]) => [el('path', {d: `M${box.l} ${py(v)}H${box.r}`}), text(say, box.l - 5, py(v) + 5, 'end')]),
        text(x.label, (box.l + box.r) / 2, height - 7, 'middle'),
        el('text', {x: 14, y: middle, 'text-anchor': 'middle', transform: `rotate(-90 14 ${middle})`}, y.label))
    }

    const drawn = new Map()
    function line(key, xs, ys, {cls = '', name = ''} = {}) {
      if (!drawn.has(key)) {
        drawn.set(key, {path: el('path'), text: el('text')})
        lines.append(drawn.get(key).path)
        names.append(drawn.get(key).text)
      }
      const {path, text} = drawn.get(key), by = Math.max(1, Math.ceil(xs.length / POINTS))
      let d = '', pen = 'M', end = -1
      for (let i = 0; i < xs.length; i = i + by < xs.length || i === xs.length - 1 ? i + by : xs.length - 1) {
        if (!Number.isFinite(ys[i])) { pen = 'M'; continue }
        d += `${pen}${px(xs[i])} ${py(ys[i])}`
        pen = 'L'
        end = i
      }
      path.setAttribute('class', `live-line ${cls}`)
      path.setAttribute('d', d)
      text.setAttribute('class', cls)
      text.textContent = end < 0 ? '' : name
      if (end < 0) return
      text.setAttribute('x', px(xs[end]) + 5)
      text.setAttribute('y', py(ys[end]) + 5)
    }
    function drop(key) {
      drawn.get(key)?.path.remove()
      drawn.get(key)?.text.remove()
      drawn.delete(key)
    }
    // Names keep their order from top to bottom: down where they touch, then up from the bottom.
    function settle() {
      const all = [...drawn.values()].map(({text}) => ({text, at: +text.getAttribute('y')}))
        .filter(({text}) => text.textContent).sort((a, b) => a.at - b.at)
      let free = box.t
      for (const one of all) { one.at = Math.max(free, one.at); free = one.at + APART }
      free = box.b + 4
      for (const one of all.reverse()) {
        one.at = Math.min(one.at, free)
        free = one.at - APART
        one.text.setAttribute('y', one.at)
      }
    }
    frame()
    return {svg, x, y, frame, line, drop, settle}
  }
  // A piece of a model's line, for a legend or beside a control.
  const swatch = (model) => el('svg', {viewBox: '0 0 34 14', class: 'live-swatch', 'aria-hidden': 'true'},
    el('path', {d: 'M1 7H33', class: `live-line live-${model}`}))

  Object.assign(RTX, {chart, linear, decades, power, swatch})
})
