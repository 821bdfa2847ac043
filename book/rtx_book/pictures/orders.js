// A sentence and an order: `masks` gives who sees whom.
(figure, masks) => {
const box = figure.querySelector('.order-box'), field = box.querySelector('input'), most = JSON.parse(figure.dataset.most)
const part = (name) => box.querySelector(name)
let words = [], order = JSON.parse(figure.dataset.order)
box.hidden = false
figure.querySelector('.order-still').hidden = true

const element = (name, text = '', more = {}) => {
  const made = Object.assign(document.createElement(name), {textContent: text})
  Object.entries(more).forEach(([key, value]) => made.setAttribute(key, value))
  return made
}
const table = (name, seen, hasRow) => {
  const made = element('table'), head = element('tr')
  made.append(element('caption', name), head)
  head.append(element('td'), ...words.map((word) => element('th', word, {scope: 'col'})))
  words.forEach((word, i) => {
    const row = element('tr')
    row.append(element('th', word, {scope: 'row'}))
    words.forEach((_, j) => {
      const sees = seen[i][j], said = !hasRow(i) ? 'no query' : sees ? 'sees' : 'does not see'
      const cell = element('td', !hasRow(i) ? '–' : sees ? '●' : '', {class: sees ? 'sees' : ''})
      cell.append(element('span', ` ${said}`, {class: 'sr-only'}))
      row.append(cell)
    })
    made.append(row)
  })
  const scroll = element('div', '', {tabindex: 0, role: 'region', 'aria-label': `Scrolls sideways: ${name}`, class: 'book-scroll'})
  scroll.append(made)
  return scroll
}
const draw = (focus = null) => {
  const {query, content, asked} = masks(words, order)
  part('.words').replaceChildren(...words.map((word, place) => {
    const rank = order.indexOf(place)
    const button = element('button', word, {type: 'button', 'aria-pressed': rank >= 0})
    button.append(element('small', rank < 0 ? ' context' : ` ${rank + 1}`))
    button.onclick = () => {
      order = rank < 0 ? [...order, place] : order.filter((own) => own !== place)
      draw(place)
    }
    return button
  }))
  part('.asked').replaceChildren(...asked.map((text) => element('li', text)))
  part('.masks').replaceChildren(
    table('query stream: has to name the word of its row', query, (i) => order.includes(i)),
    table('content stream: has read it', content, () => true))
  part('.said').textContent = order.length
    ? `${order.length} of ${words.length} words predicted: ${order.map((place) => words[place]).join(', ')}.`
    : 'No word is predicted yet: press one.'
  if (focus !== null) part('.words').children[focus].focus()
}
const read = () => {
  const typed = field.value.trim().split(/\s+/).filter(Boolean)
  if (typed.length < 2 || typed.length > most) {
    part('.said').textContent = `Write 2 to ${most} words.`
    return
  }
  if (typed.length !== words.length) order = typed.map((_, place) => place)
  words = typed
  draw()
}
const ways = {first: (all) => all, last: (all) => all.reverse(), clear: () => []}
ways.random = (all) => {
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [all[i], all[j]] = [all[j], all[i]]
  }
  return all
}
box.querySelectorAll('[data-way]').forEach((button) => button.onclick = () => {
  order = ways[button.dataset.way](words.map((_, place) => place))
  draw()
})
field.oninput = read
words = field.value.trim().split(/\s+/)
draw()
}
