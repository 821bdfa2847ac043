// An exercise: `box` holds fields, a button and a line; data-ask what the check said, by hashes of the answers.
// `measures` gives what rules ask of a matrix.
(box, measures) => {
const {kind, label, entries, messages, otherwise, rules} = JSON.parse(box.dataset.ask)
const fields = [...box.querySelectorAll('input')], line = box.querySelector('[role=status]')
box.hidden = false

const hash = (text) => {
  let value = 2166136261
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619)
  return value >>> 0
}
const decipher = (text, key) => new TextDecoder().decode(Uint8Array.from(atob(text), (byte) => {
  key = Math.imul(key, 1664525) + 1013904223 >>> 0
  return byte.charCodeAt() ^ key >>> 24
}))
// A decimal comma and separators of thousands cannot be told apart: both readings count. 1/6, 5 % and 2·10^3 too.
const numbers = (text) => {
  const plain = text.replace(/[\s_]/g, '').replace(/[−–]/g, '-').replace(/[x×·*]10\^/g, 'e').replace(/(^|[-/])10\^/g, '$11e')
  const cent = plain.endsWith('%') ? 100 : 1
  return [plain.replace(',', '.'), plain.replace(/,/g, '')].map((form) => {
    const sides = form.replace(/%$/, '').split('/')
    if (sides.length > 2 || !sides.every((side) => /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(side))) return NaN
    return sides[0] / (sides[1] ?? 1) / cent
  })
}
const word = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
const places = () => fields.map((field, i) => field.checked ? i : '').filter((place) => place !== '').join(',')
const typed = () => {
  if (fields[0].type !== 'text') return [[places()]]
  const texts = fields.map((field) => field.value)
  if (kind === 'word') return [[word(texts[0])]]
  if (kind === 'set') return [[[...new Set(texts[0].toLowerCase().match(/[^\s,;{}]+/g))].filter((own) => own !== 'and').sort().join(',')]]
  const forms = texts.map((text) => numbers(text))
  return [0, 1].map((form) => texts.map((text, i) => Number.isFinite(forms[i][form]) ? forms[i][form] : word(text)))
}
const find = (parts) => entries.map(([grids, sum, wrapped, place]) => {
  const own = grids.map((grid, i) => grid ? Math.round((parts[i] - grid[1]) / grid[0]) : parts[i])
  const key = `${label}|${own.join('|')}`
  return hash(key) === sum && [place, decipher(messages[place], (wrapped ^ hash(`#${key}`)) >>> 0)]
}).find((found) => found)

const ruled = (matrix) => {
  const found = measures(matrix), short = (value) => `${+value.toPrecision(3)}`
  const broken = rules.find(([name, sign, bound]) => !(sign === '<=' ? found[name] <= bound : found[name] > bound))
  return broken ? [1, broken[3].replace('{}', short(found[broken[0]]))]
    : [0, `Right: radius ${short(found.radius)}, norm ${short(found.norm)}, and the norm of power ${found.step} is ${short(found.peak)}.`]
}
const judge = () => {
  const readings = typed(), texts = fields.filter((field) => field.type === 'text')
  if (fields[0].type === 'radio' && !fields.some((field) => field.checked)) return 'Choose an answer first.'
  if (texts.some((field) => !field.value.trim())) return 'Write an answer first.'
  if (/number|matrix/.test(kind) && !readings.some((own) => own.every((part) => typeof part === 'number')))
    return 'Write numbers, such as 0.25, 1/4 or 2.5e-1.'
  const found = rules.length ? ruled(readings.find((own) => own.every((part) => typeof part === 'number')))
    : readings.map(find).filter(Boolean).sort(([a], [b]) => a - b)[0]
  const [place, message] = found ?? [1, otherwise.replaceAll('{}', texts.map((field) => field.value.trim()).join(', '))]
  return (place ? '✗ Not yet: ' : '✓ ') + message
}
const answer = () => {
  line.textContent = ''  // so that the same words are read out again
  setTimeout(() => line.textContent = judge(), 60)
}
box.querySelector('button').onclick = answer
fields.forEach((field) => field.onkeydown = (event) => {
  if (event.key === 'Enter') answer()
})
}
