// The handler of every event in the explorer of the race: `this` is the figure. It reads the controls and draws all.
const f = this, d = f.race || (f.race = JSON.parse(f.dataset.race))
const part = (name) => f.querySelector(`[data-part=${name}]`)
const boxes = [...f.querySelectorAll('.book-lanes input')]
const task = d.tasks[part('task').value], axis = +part('axis').value, logx = part('log').checked
const button = event.type == 'click' && event.target.closest('button')
if (event.type == 'click' && !button) return
if (event.type == 'mouseover' || event.type == 'focus') {
  const at = event.target.closest('[data-lane]')
  if (!at || at.dataset.lane === f.dataset.focus) return
  f.dataset.focus = at.dataset.lane
}
if (boxes.includes(event.target) && event.type == 'input') f.dataset.own = 'yes'
if (button) f.dataset.own = button.value
if ((f.dataset.own || 'best') == 'best') boxes.forEach((e) => { e.checked = task.best.includes(+e.value) })
else if (button) boxes.forEach((e) => { e.checked = button.value == 'all' })
const chosen = boxes.filter((e) => e.checked).map((e) => +e.value), focus = +(f.dataset.focus ?? -1)

const three = (v) => {
  const a = Math.abs(v)
  if (!v) return '0'
  if (a < 1e-3 || a >= 1e6) return v.toExponential(2).replace('e+', 'e').replace(/\.?0+e/, 'e')
  const r = +v.toPrecision(3)
  return Math.abs(r) >= 100 ? r.toLocaleString('en') : String(r)
}
const big = (v) => {
  const i = Math.max(0, Math.min(d.prefixes.length - 1, Math.floor(Math.log10(v) / 3)))
  return [10 ** (3 * i), d.prefixes[i]]
}
const [x0, y0, x1, y1] = d.box, lanes = Object.entries(task.lanes).map(([k, r]) => ({k: +k, ...r}))
const shown = lanes.map((r) => ({...r, per: axis ? r.cost[axis - 1] : 1})).filter((r) => r.per)
const far = Math.max(...shown.map((r) => r.s[r.s.length - 1] * r.per)), near = Math.min(...shown.map((r) => r.s[0] * r.per))
const [scale, prefix] = axis == 2 && shown.length ? big(far) : [1, '']
const hi = shown.length ? far / scale : 1, lo = shown.length && logx ? near / scale : logx ? 0.1 : 0
const unit = prefix + d.axes[axis]
const round = (v) => Math.round(v * 10) / 10
const place = (v, a, b, log) => log ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a)
const px = (v) => round(x0 + (x1 - x0) * place(v, lo, hi > lo ? hi : 2 * lo, logx))
const [bottom, top] = task.y
const py = (v) => round(y1 - (y1 - y0) * Math.min(1, Math.max(0, place(v, bottom, top, task.log))))
const ticks = (a, b, log) => {
  if (log && b / a >= 100) {
    const first = Math.ceil(Math.log10(a) - 1e-9), last = Math.floor(Math.log10(b) + 1e-9), by = Math.ceil((last - first + 1) / 6)
    return [...Array(Math.floor((last - first) / by) + 1).keys()].map((i) => 10 ** (first + i * by))
  }
  if (log) {
    const all = []
    for (let e = Math.floor(Math.log10(a)); e <= Math.log10(b); e++)
      for (const m of [1, 2, 5]) if (m * 10 ** e >= a * (1 - 1e-9) && m * 10 ** e <= b * (1 + 1e-9)) all.push(m * 10 ** e)
    return all
  }
  const raw = (b - a) / 4.5, power = 10 ** Math.floor(Math.log10(raw)), step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= raw)
  const first = Math.ceil(a / step - 1e-9)
  return [...Array(Math.floor(b / step + 1e-9) - first + 1).keys()].map((i) => (first + i) * step)
}
const grid = ticks(lo, hi, logx).map((v) =>
  `<path d="M${px(v)} ${y0}V${y1}"/><text x="${px(v)}" y="${y1 + 16}" text-anchor="middle">${three(v)}</text>`)
const level = ticks(bottom, top, task.log).map((v) =>
  `<path d="M${x0} ${py(v)}H${x1}"/><text x="${x0 - 5}" y="${round(py(v) + 4)}" text-anchor="end">${three(v)}</text>`)
const lines = task.lines.map(([name, v], i) =>
  `<path class="${i || task.line === null ? 'dotted' : 'dashed'}" d="M${x0} ${py(v)}H${x1}"/>`)
part('names').innerHTML = task.lines.map(([name, v]) =>
  `<text class="name" x="${x1 - 3}" y="${round(py(v) - 4)}" text-anchor="end">${name}</text>`).join('')
part('grid').innerHTML = grid.join('') + level.join('') + lines.join('')
part('unit').textContent = unit
part('label').textContent = task.label

const path = (s, v, per) => {
  let pen = 'M'
  return v.map((value, i) => {
    if (value === null) { pen = 'M'; return '' }
    const at = `${pen}${px(s[i] * per / scale)} ${py(value)}`
    pen = 'L'
    return at
  }).join('')
}
const names = [], groups = [...f.querySelectorAll('g[data-lane]')]
groups.forEach((g) => {
  const k = +g.dataset.lane, r = shown.find((r) => r.k == k), strong = chosen.includes(k) || k == focus
  const [band, line, marks, leader, text, hit] = g.children
  g.setAttribute('class', (r && strong ? 'strong' : 'pale') + (k == focus ? ' focus' : '') + (d.lanes[k].yours ? ' yours' : ''))
  g.rank = !r ? 0 : k == focus ? 4 : d.lanes[k].yours ? 3 : strong ? 2 : 1
  const way = r ? path(r.s, r.m, r.per) : ''
  line.setAttribute('d', way)
  hit.setAttribute('d', way)
  const back = (v) => [...v].reverse()
  band.setAttribute('d', r && strong && r.n > 1 && (k == focus || chosen.length <= d.bands) ? `${path(r.s, r.h, r.per)}${path(back(r.s), back(r.l), r.per).replace('M', 'L')}Z` : '')
  const seen = r ? r.m.map((v, i) => v === null ? -1 : i).filter((i) => i >= 0) : []
  const by = Math.max(1, Math.ceil(seen.length / 5)), last = seen[seen.length - 1]
  const points = seen.filter((i, n) => n % by == k % by && i != last).concat(seen.length ? [last] : [])
  marks.setAttribute('d', r && strong ? points.map((i) => `M${px(r.s[i] * r.per / scale)} ${py(r.m[i])}${d.marks[d.lanes[k].mark]}`).join('') : '')
  leader.setAttribute('d', '')
  text.textContent = ''
  if (r && strong && seen.length)
    names.push({text, leader, label: d.lanes[k].label, x: px(r.s[last] * r.per / scale), y: py(r.m[last])})
})
groups.sort((a, b) => a.rank - b.rank || a.dataset.lane - b.dataset.lane).forEach((g) => g.parentNode.append(g))
names.sort((a, b) => a.y - b.y)
let free = y0 - 8
for (const n of names) { n.at = Math.max(n.y, free + 7 * n.label.length); free = n.at + 7 * n.label.length }
free = y1 + 14
for (const n of names.reverse()) { n.at = Math.min(n.at, free - 7 * n.label.length); free = n.at - 7 * n.label.length }
for (const n of names) {
  n.text.innerHTML = n.label.map((part, i) => `<tspan x="${x1 + 16}" y="${round(n.at + 4 + 14 * i - 7 * (n.label.length - 1))}">${part}</tspan>`).join('')
  n.leader.setAttribute('d', `M${round(n.x + 4)} ${n.y}L${x1 + 14} ${round(n.at)}`)
}

const slider = part('cut')
if (event.target === part('axis') && event.type == 'input') {
  // Over steps all lanes end together; over another axis the reader sees who leads when the cheapest has ended.
  const cheapest = axis && shown.length ? shown.reduce((a, b) => b.per < a.per ? b : a) : null
  const end = cheapest && place(cheapest.s[cheapest.s.length - 1] * cheapest.per / scale, lo, hi, logx)
  slider.value = cheapest ? Math.ceil(slider.max * end - 1e-9) : slider.max
}
const share = slider.value / slider.max
const cut = logx ? lo * (hi / lo) ** share : lo + (hi - lo) * share
const there = shown.map((r) => {
  const i = r.s.filter((s) => s * r.per <= cut * scale * (1 + 1e-9)).length - 1
  return [r.k, i < 0 ? null : r.m[i]]
}).filter(([k, v]) => v !== null).sort((a, b) => task.higher ? b[1] - a[1] : a[1] - b[1])
const lead = there.slice(0, 3).map(([k, v]) => `${d.lanes[k].name} ${three(v)}`).join(', ')
const says = `${there.length > 3 ? 'best three ' : ''}at ${three(cut)} ${unit}: ${lead || 'no value yet'}`
f.querySelector('output').textContent = says
slider.setAttribute('aria-valuetext', says)
part('cursor').setAttribute('d', `M${px(cut)} ${y0}V${y1}`)
part('chart').setAttribute('aria-label', `${task.label} of ${lanes.length} models on ${task.name}, over ${unit}; ${says}`)

const r = lanes.find((r) => r.k == focus)
if (focus >= 0) {
  const of = r && (r.n == 1 ? '1 run' : `${r.n} runs`), cost = (i, v) => r.cost[i] ? v : ''
  const flops = r && r.cost[1] && r.reach ? big(r.reach * r.cost[1]) : [1, '']
  const range = r && r.end[1] !== null ? `${three(r.end[1])} to ${three(r.end[2])}` : ''
  const ends = !r ? '' : r.end[0] !== null ? `ends at ${three(r.end[0])} (${range}, ${of}${r.off ? `, ${r.off} ended early` : ''})` :
    `${r.off} of ${of} ended early${range && `, the others end at ${range}`}`
  part('about').textContent = !r ? `${d.lanes[focus].name}: no value on ${task.name}.` :
    `${d.lanes[focus].name} on ${task.name}: ${ends}. ` +
    (task.line === null ? '' : !r.reach ? `Never reaches the finish line, ${three(task.line)}.` :
    `Reaches the finish line, ${three(task.line)}, after ${three(r.reach)} steps` +
    cost(0, `, ${three(r.reach * r.cost[0])} seconds`) + cost(1, `, ${three(r.reach * r.cost[1] / flops[0])} ${flops[1]}FLOPs`) +
    (r.n > 1 ? ` (median of ${r.k_of} of ${of}).` : '.'))
}
