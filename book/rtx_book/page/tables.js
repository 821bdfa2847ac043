// A table in `figure`: its heads sort it, and where data-choose is the place of a column, the reader chooses by the
// texts of that column which rows are there. Without this script all of them are.
(figure) => {
if (figure.querySelector('[role=status]')) return  // a moved cell of JupyterLab loads its style sheet again
const table = figure.querySelector('table'), heads = [...table.tHead.rows[0].cells], body = table.tBodies[0]
const by = JSON.parse(figure.dataset.choose)
const make = (parent, tag, attributes = {}, text = '') => {
  const e = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value)
  e.textContent = text
  return parent.appendChild(e)
}
const box = table.closest('.book-scroll'), status = make(figure, 'p', {role: 'status'})
box.after(status)
const count = make(status, 'span'), order = make(status, 'span')

// A click on a column's button: ascending, then descending; what has no value stays last, ties keep their order.
table.onclick = (event) => {
  const button = event.target.closest('thead button')
  if (!button) return
  const head = button.closest('th'), text = head.classList.contains('text')
  const up = head.getAttribute('aria-sort') !== 'ascending', key = (row) => row.cells[head.cellIndex].dataset.value
  const compare = (one, other) => {
    const a = key(one), b = key(other)
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined)
    return (up ? 1 : -1) * (text ? a.localeCompare(b, 'en', {numeric: true}) : a - b)
  }
  body.append(...[...body.rows].sort(compare))
  for (const other of heads) other.setAttribute('aria-sort', 'none')
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending')
  const how = text ? (up ? 'A to Z' : 'Z to A') : up ? 'smallest first' : 'greatest first'
  order.textContent = `Sorted by ${button.textContent.trim()}, ${how}.`
}
figure.onkeydown = (event) => event.stopPropagation()  // JupyterLab takes keys for itself unless they stop here
if (by === null || !body.rows.length) return

// The other rows and the column that is chosen by are away, or all is there.
const rows = [...body.rows], of = (row) => row.cells[by].textContent, name = heads[by].textContent
const bar = make(figure, 'div', {class: 'book-control'}), label = make(bar, 'label')
box.before(bar)
make(label, 'span', {}, name[0].toUpperCase() + name.slice(1))
const choice = make(label, 'select', {autocomplete: 'off'})
for (const value of new Set(rows.map(of))) make(choice, 'option', {value}, value)
make(choice, 'option', {value: ''}, 'all')
for (const row of [...rows, table.tHead.rows[0]]) row.cells[by].classList.add('by')
const choose = () => {
  const all = choice.value === '', there = rows.filter((row) => all || of(row) === choice.value)
  for (const row of rows) row.classList.toggle('away', !there.includes(row))
  table.classList.toggle('one', !all)
  count.textContent = `${there.length} of ${rows.length} rows. `
}
choice.onchange = choose
choose()
}
