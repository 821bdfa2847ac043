// The explorer of ranks: builds its controls in `figure` and draws the chart from the numbers in data-ranks.
(figure) => {
const d = JSON.parse(figure.dataset.ranks), room = figure.querySelector('.room')
const SVG = room.querySelector('svg').namespaceURI, title = figure.querySelector('.fig-title')
const [left, right, top, row] = [222, 468, 8, 21]  // the plot's sides, its upper edge, and the height of a row

const make = (at, tag, attributes = {}, text = '') => {
  const e = document.createElementNS(tag === 'svg' ? SVG : at.namespaceURI, tag)
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value)
  e.textContent = text
  return at.appendChild(e)
}
const round = (v) => Math.round(v * 10) / 10

// ---- controls

room.replaceChildren()
const bar = () => make(room, 'div', {class: 'book-control'})
const field = (at, name, tag, attributes = {}) => {
  const label = make(at, 'label')
  make(label, 'span', {}, name)
  return make(label, tag, {autocomplete: 'off', ...attributes})
}
const options = (select, names) => {
  select.replaceChildren()  // the first one that comes then is chosen
  names.forEach((name, i) => make(select, 'option', {value: i}, name))
}
const above = bar(), taskBox = field(above, 'Task', 'select'), kindBox = field(above, 'Equal', 'select')
const below = bar(), slider = field(below, 'Budget', 'input', {type: 'range', min: 0, step: 1})
const output = make(below, 'output', {'aria-live': 'off'})
const chart = make(room, 'svg', {'data-part': 'chart', role: 'img'})
title.setAttribute('aria-live', 'polite')
options(taskBox, d.tasks.map((task) => task.name))

// ---- the chart

const draw = () => {
  const [amount, said, rows] = d.tasks[taskBox.value].kinds[kindBox.value].frames[slider.value]
  const n = rows.length, foot = top + n * row
  const px = (rank) => round(right - (right - left) * (rank - 0.5) / n)  // better is to the right
  output.textContent = amount
  slider.setAttribute('aria-valuetext', amount)
  title.textContent = said
  figure.setAttribute('aria-label', said)
  const told = rows.map(([k, place, low, high]) => `${d.lanes[k].name} ${place} (${low} to ${high})`)
  chart.setAttribute('aria-label', `${said}. Rank and interval: ${told.join(', ')}`)
  chart.setAttribute('viewBox', `0 0 480 ${foot + 38}`)
  chart.replaceChildren()
  const [, , first, last] = rows[0]
  make(chart, 'rect', {class: 'lead', x: px(last) - 5, y: top, width: px(first) - px(last) + 10, height: foot - top})
  const by = Math.ceil(n / 8)
  for (let rank = 1; rank <= n; rank += by) {
    make(chart, 'path', {class: 'grid', d: `M${px(rank)} ${top}V${foot}`})
    make(chart, 'text', {x: px(rank), y: foot + 15, 'text-anchor': 'middle'}, rank)
  }
  make(chart, 'text', {x: right, y: foot + 33, 'text-anchor': 'end'}, `rank on the ${d.split} split after ${amount}, better →`)
  rows.forEach(([k, place, low, high, tied], i) => {
    const y = round(top + (i + 0.5) * row), lane = d.lanes[k]
    const g = make(chart, 'g', {'data-lane': k, class: tied ? 'tied' : 'apart', style: `--lane:${lane.colour}`})
    make(g, 'text', {x: left - 12, y: y + 4, 'text-anchor': 'end'}, lane.name)
    make(g, 'path', {class: 'interval', d: `M${px(high)} ${y}H${round(px(low) + 0.1)}`})
    make(g, 'path', {class: 'mark', d: lane.mark, transform: `translate(${px(place)} ${y})`})
  })
}

// ---- what the reader does: another budget begins with the largest amount

const begin = () => {
  slider.max = slider.value = d.tasks[taskBox.value].kinds[kindBox.value].frames.length - 1
  draw()
}
const choose = () => {
  const kinds = d.tasks[taskBox.value].kinds.map((kind) => kind.name)
  const before = kinds.indexOf(kindBox.selectedOptions[0]?.text)
  options(kindBox, kinds)
  kindBox.value = Math.max(0, before)
  begin()
}
taskBox.oninput = choose
kindBox.oninput = begin
slider.oninput = draw
figure.onkeydown = (event) => event.stopPropagation()
choose()
}
