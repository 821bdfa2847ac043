// The explorer of the race: builds its controls in `figure` and draws the chart from the numbers in data-race.
(figure) => {
const d = JSON.parse(figure.dataset.race), room = figure.querySelector('.room')
const SVG = room.querySelector('svg').namespaceURI
const [x0, y0, x1, y1] = [42, 24, 362, 288]  // the plot's left, top, right and bottom
const AXES = ['steps', 'seconds', 'FLOPs'], PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E']
const CUTS = 30, BANDS = 6  // positions of the slider; most chosen lanes whose bands are all drawn

const make = (parent, tag, attributes = {}, text = '') => {
  const e = document.createElementNS(tag === 'svg' ? SVG : parent.namespaceURI, tag)
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value)
  e.textContent = text
  return parent.appendChild(e)
}
const round = (v) => Math.round(v * 10) / 10
const three = (v) => {
  const a = Math.abs(v)
  if (!v) return '0'
  if (a < 1e-3 || a >= 1e6) return v.toExponential(2).replace('e+', 'e').replace(/\.?0+e/, 'e')
  const r = +v.toPrecision(3)
  return Math.abs(r) >= 100 ? r.toLocaleString('en') : String(r)
}
const big = (v) => {
  const i = Math.max(0, Math.min(PREFIXES.length - 1, Math.floor(Math.log10(v) / 3)))
  return [10 ** (3 * i), PREFIXES[i]]
}
// Where the marks of an axis stand: powers of ten, or steps of 1, 2, 2.5 or 5 times one.
const ticks = (a, b, log) => {
  if (log && b / a >= 100) {
    const first = Math.ceil(Math.log10(a) - 1e-9), last = Math.floor(Math.log10(b) + 1e-9)
    const by = Math.ceil((last - first + 1) / 6)
    return [...Array(Math.floor((last - first) / by) + 1).keys()].map((i) => 10 ** (first + i * by))
  }
  if (log) {
    const all = []
    for (let e = Math.floor(Math.log10(a)); e <= Math.log10(b); e++) all.push(...[1, 2, 5].map((m) => m * 10 ** e))
    return all.filter((v) => v >= a * (1 - 1e-9) && v <= b * (1 + 1e-9))
  }
  const raw = (b - a) / 4.5, power = 10 ** Math.floor(Math.log10(raw))
  const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= raw), first = Math.ceil(a / step - 1e-9)
  return [...Array(Math.floor(b / step + 1e-9) - first + 1).keys()].map((i) => (first + i) * step)
}
const place = (v, a, b, log) => log ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a)

// ---- controls

room.replaceChildren()
const bar = () => make(room, 'div', {class: 'book-control'})
const field = (at, name, tag, attributes = {}) => {
  const label = make(at, 'label')
  make(label, 'span', {}, name)
  return make(label, tag, {autocomplete: 'off', ...attributes})
}
const top = bar()
const choice = (name, options) => {
  const select = field(top, name, 'select')
  options.forEach((option, i) => make(select, 'option', {value: i}, option))
  return select
}
const taskBox = choice('Task', d.tasks.map((task) => task.name)), axisBox = choice('Budget in', AXES)
taskBox.value = d.start
const logBox = field(top, 'logarithmic', 'input', {type: 'checkbox', 'data-part': 'log'})
const chart = make(room, 'svg', {'data-part': 'chart', viewBox: '0 0 480 330', role: 'img'})
const under = bar()
const slider = field(under, 'Cut the budget', 'input', {type: 'range', min: 0, max: CUTS, value: CUTS})
const output = make(under, 'output', {'aria-live': 'off'})
const about = make(room, 'p', {class: 'about', 'aria-live': 'polite'},
  'Point at a line, or go to a name by the Tab key, for its numbers.')
const sets = make(room, 'div', {class: 'book-lanes'}), buttons = bar()
let family, set
const boxes = d.lanes.map((lane, k) => {
  if (lane.family !== family) make(set = make(sets, 'fieldset'), 'legend', {}, family = lane.family)
  const label = make(set, 'label', {'data-lane': k})
  const box = make(label, 'input', {type: 'checkbox', value: k, autocomplete: 'off'})
  const piece = make(label, 'svg', {viewBox: '0 0 34 14', 'aria-hidden': 'true', style: 'color:inherit'})
  make(piece, 'path', {d: 'M1 7H33', stroke: lane.colour, 'stroke-width': 2.2, 'stroke-dasharray': lane.dash})
  make(piece, 'path', {d: lane.mark, transform: 'translate(17 7)', fill: lane.colour})
  label.append(lane.name)
  return box
})

// ---- the chart

let pick = 'best', focus = -1  // how the lanes were chosen, and the one looked at
const scales = () => {
  const task = d.tasks[taskBox.value], axis = +axisBox.value, log = logBox.checked
  const lanes = Object.entries(task.lanes).map(([k, r]) => ({k: +k, ...r, per: axis ? r.cost[axis - 1] : 1}))
  const shown = lanes.filter((r) => r.per)
  const far = Math.max(...shown.map((r) => r.s.at(-1) * r.per)), near = Math.min(...shown.map((r) => r.s[0] * r.per))
  const [scale, prefix] = axis === 2 && shown.length ? big(far) : [1, '']
  const hi = shown.length ? far / scale : 1, lo = !log ? 0 : shown.length ? near / scale : 0.1
  const px = (v) => round(x0 + (x1 - x0) * place(v, lo, hi > lo ? hi : 2 * lo, log))
  const py = (v) => round(y1 - (y1 - y0) * Math.min(1, Math.max(0, place(v, ...task.y, task.log))))
  return {task, axis, log, lanes, shown, scale, lo, hi, px, py, unit: prefix + AXES[axis]}
}
const drawGrid = ({task, log, lo, hi, px, py, unit}) => {
  const grid = make(chart, 'g', {class: 'grid'})
  for (const v of ticks(lo, hi, log)) {
    make(grid, 'path', {d: `M${px(v)} ${y0}V${y1}`})
    make(grid, 'text', {x: px(v), y: y1 + 16, 'text-anchor': 'middle'}, three(v))
  }
  for (const v of ticks(...task.y, task.log)) {
    make(grid, 'path', {d: `M${x0} ${py(v)}H${x1}`})
    make(grid, 'text', {x: x0 - 5, y: round(py(v) + 4), 'text-anchor': 'end'}, three(v))
  }
  task.lines.forEach(([, v], i) => make(grid, 'path', {
    class: i || task.line === null ? 'dotted' : 'dashed', d: `M${x0} ${py(v)}H${x1}`}))
  make(chart, 'text', {'data-part': 'unit', x: (x0 + x1) / 2, y: y1 + 35, 'text-anchor': 'middle'}, unit)
  make(chart, 'text', {x: 4, y: 11}, task.label)
}
const path = (points) => {
  let pen = 'M'
  return points.map(([x, y]) => {
    const at = y === null ? '' : `${pen}${x} ${y}`
    pen = y === null ? 'M' : 'L'
    return at
  }).join('')
}
// One lane's band, line, marks and wide invisible line to point at; the end of its curve, for its name.
const drawLane = (r, strong, chosen, {scale, px, py}) => {
  const lane = d.lanes[r.k], yours = lane.family === 'yours'
  const g = make(chart, 'g', {'data-lane': r.k, style: `--lane:${lane.colour};--dash:${lane.dash}`})
  g.setAttribute('class', `${strong ? 'strong' : 'pale'}${r.k === focus ? ' focus' : ''}${yours ? ' yours' : ''}`)
  const curve = (values) => values.map((v, i) => [px(r.s[i] * r.per / scale), v === null ? null : py(v)])
  const points = curve(r.m), way = path(points)
  if (strong && r.n > 1 && (r.k === focus || chosen <= BANDS))
    make(g, 'path', {class: 'band', d: `${path(curve(r.h))}${path(curve(r.l).reverse()).replace('M', 'L')}Z`})
  make(g, 'path', {class: 'line', d: way})
  const seen = points.filter(([, y]) => y !== null), by = Math.max(1, Math.ceil(seen.length / 5)), end = seen.at(-1)
  if (strong)
    for (const [x, y] of seen.filter((at, n) => n % by === r.k % by || at === end))
      make(g, 'path', {class: 'mark', d: lane.mark, transform: `translate(${x} ${y})`})
  make(g, 'path', {class: 'hit', d: way})
  return strong && end ? [{g, label: lane.label, x: end[0], y: end[1]}] : []
}
// Names right of the plot, 14 units for each of their lines, moved apart: down first, then up from the bottom.
const drawNames = (names) => {
  names.sort((a, b) => a.y - b.y)
  let free = y0 - 8
  for (const n of names) { n.at = Math.max(n.y, free + 7 * n.label.length); free = n.at + 7 * n.label.length }
  free = y1 + 14
  for (const n of [...names].reverse()) { n.at = Math.min(n.at, free - 7 * n.label.length); free = n.at - 7 * n.label.length }
  for (const {g, label, x, y, at} of names) {
    make(g, 'path', {class: 'leader', d: `M${round(x + 4)} ${y}L${x1 + 14} ${round(at)}`})
    const text = make(g, 'text')
    label.forEach((part, i) => make(text, 'tspan', {x: x1 + 16, y: round(at + 4 + 14 * i - 7 * (label.length - 1))}, part))
  }
}
// The cursor at the cut, and which three of all lanes lead there.
const drawCut = ({task, log, lanes, shown, scale, lo, hi, px, unit}) => {
  const share = slider.value / CUTS, cut = log ? lo * (hi / lo) ** share : lo + (hi - lo) * share
  const there = shown.map((r) => [r.k, r.m[r.s.filter((s) => s * r.per <= cut * scale * (1 + 1e-9)).length - 1] ?? null])
    .filter(([, v]) => v !== null).sort((a, b) => task.higher ? b[1] - a[1] : a[1] - b[1])
  const lead = there.slice(0, 3).map(([k, v]) => `${d.lanes[k].name} ${three(v)}`).join(', ')
  const says = `${there.length > 3 ? 'best three ' : ''}at ${three(cut)} ${unit}: ${lead || 'no value yet'}`
  output.textContent = says
  slider.setAttribute('aria-valuetext', says)
  chart.setAttribute('aria-label', `${task.label} of ${lanes.length} models on ${task.name}, over ${unit}; ${says}`)
  make(chart, 'path', {class: 'cursor', 'data-part': 'cursor', d: `M${px(cut)} ${y0}V${y1}`})
}
const tell = ({task, lanes}) => {
  const name = d.lanes[focus].name, r = lanes.find((r) => r.k === focus)
  if (!r) return `${name}: no value on ${task.name}.`
  const of = r.n === 1 ? '1 run' : `${r.n} runs`, early = r.off ? `, ${r.off} ended early` : ''
  const range = r.end[1] === null ? '' : `${three(r.end[1])} to ${three(r.end[2])}`
  const ends = r.end[0] !== null ? `ends at ${three(r.end[0])} (${range}, ${of}${early})` :
    `${r.off} of ${of} ended early${range && `, the others end at ${range}`}`
  const line = `the finish line, ${three(task.line ?? 0)}`, first = `${name} on ${task.name}: ${ends}. `
  if (task.line === null) return first
  if (!r.reach) return `${first}Never reaches ${line}.`
  const [seconds, flops] = r.cost, [unit, prefix] = flops ? big(r.reach * flops) : [1, '']
  return `${first}Reaches ${line}, after ${three(r.reach)} steps` +
    (seconds ? `, ${three(r.reach * seconds)} seconds` : '') +
    (flops ? `, ${three(r.reach * flops / unit)} ${prefix}FLOPs` : '') +
    (r.n > 1 ? ` (median of ${r.reached} of ${of}).` : '.')
}
const draw = () => {
  const now = scales()
  if (pick === 'best') boxes.forEach((box, k) => { box.checked = now.task.best.includes(k) })
  const strong = (k) => boxes[k].checked || k === focus, chosen = boxes.filter((box) => box.checked).length
  const rank = ({k}) => k === focus ? 3 : d.lanes[k].family === 'yours' ? 2 : strong(k) ? 1 : 0
  chart.replaceChildren()
  drawGrid(now)
  drawCut(now)
  const order = [...now.shown].sort((a, b) => rank(a) - rank(b) || a.k - b.k)
  drawNames(order.flatMap((r) => drawLane(r, strong(r.k), chosen, now)))
  now.task.lines.forEach(([name, v]) =>
    make(chart, 'text', {class: 'name', x: x1 - 3, y: round(now.py(v) - 4), 'text-anchor': 'end'}, name))
  if (focus >= 0) about.textContent = tell(now)
}

// ---- what the reader does

for (const [value, text] of [['best', 'Best of each family'], ['all', 'All'], ['none', 'None']])
  make(buttons, 'button', {type: 'button'}, text).onclick = () => {
    pick = value
    boxes.forEach((box) => { box.checked = value === 'all' })
    draw()
  }
sets.oninput = () => { pick = 'own'; draw() }
taskBox.oninput = logBox.oninput = slider.oninput = draw
// Over steps all lanes end together; over another axis the reader sees who leads when the cheapest has ended.
axisBox.oninput = () => {
  const {axis, log, shown, scale, lo, hi} = scales()
  const cheapest = axis && shown.length ? shown.reduce((a, b) => b.per < a.per ? b : a) : null
  const end = cheapest ? place(cheapest.s.at(-1) * cheapest.per / scale, lo, hi, log) : 1
  slider.value = Math.ceil(CUTS * end - 1e-9)
  draw()
}
const lookAt = (event) => {
  const lane = event.target.closest('[data-lane]')?.dataset.lane
  if (lane === undefined || +lane === focus) return
  focus = +lane
  draw()
}
for (const kind of ['mouseover', 'focusin']) figure.addEventListener(kind, lookAt)
figure.onkeydown = (event) => event.stopPropagation()
draw()
}
