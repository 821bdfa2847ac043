// An exercise: `box` holds fields, a button and a line; data-ask which answers the check has a word for.
// `measures` gives what rules ask of a matrix.
(box, measures) => {
const {kind, entries, praise, otherwise, rules} = JSON.parse(box.dataset.ask)
const fields = [...box.querySelectorAll('input')], line = box.querySelector('[role=status]')
box.hidden = false

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
  const forms = texts.map((text) => numbers(text))
  return [0, 1].map((form) => texts.map((text, i) => Number.isFinite(forms[i][form]) ? forms[i][form] : word(text)))
}
const find = (own) => entries.find(([parts]) => parts.every((part, i) =>
  Array.isArray(part) ? part[0] <= own[i] && own[i] <= part[1] : part === own[i]))

// What is wrong, or nothing; and what to say of a right answer.
const ruled = (matrix) => {
  const found = measures(matrix), short = (value) => `${+value.toPrecision(3)}`
  const broken = rules.find(([name, sign, bound]) => !(sign === '<=' ? found[name] <= bound : found[name] > bound))
  return broken ? [broken[3].replace('{}', short(found[broken[0]]))]
    : ['', `Right: radius ${short(found.radius)}, norm ${short(found.norm)}, and the norm of power ${found.step} is ${short(found.peak)}.`]
}
const known = (readings) => {
  const found = readings.map(find).filter(Boolean).map(([, message]) => message)
  return [found.length ? found.includes('') ? '' : found[0] : null, praise]
}
const judge = () => {
  const readings = typed(), texts = fields.filter((field) => field.type === 'text')
  if (fields[0].type === 'radio' && !fields.some((field) => field.checked)) return 'Choose an answer first.'
  if (texts.some((field) => !field.value.trim())) return 'Write an answer first.'
  if (/number|matrix/.test(kind) && !readings.some((own) => own.every((part) => typeof part === 'number')))
    return 'Write numbers, such as 0.25, 1/4 or 2.5e-1.'
  const [wrong, right] = rules.length ? ruled(readings.find((own) => own.every((part) => typeof part === 'number'))) : known(readings)
  if (wrong === '') return `✓ ${right}`
  return `✗ Not yet: ${wrong ?? otherwise.replaceAll('{}', texts.map((field) => field.value.trim()).join(', '))}`
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
