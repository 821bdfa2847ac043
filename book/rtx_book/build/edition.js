// The notebooks with what they showed: `node edition.js EXECUTED NOTEBOOKS OUT`. GitHub and a JupyterLab that does not
// trust a file run no script and drop a drawing inside HTML, so a figure becomes its title, a picture and its caption.
// Fields and solutions stay away. All else is the source's own, and a copy of another source is refused.
/* global require, process */
const fs = require('fs')
const path = require('path')

const [executed, notebooks, out] = process.argv.slice(2)
const ASKS = ['hide-cell', 'remove-input']
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'))
const text = (value) => [value ?? ''].flat().join('')
const shown = (data) => ({output_type: 'display_data', metadata: {}, data})
const part = (html, pattern) => (html.match(pattern) ?? [])[1]

function figure(html, plain) {
  const svg = html.match(/<svg[^]*<\/svg>/)[0].split(/(?<=<\/svg>)/)[0]
  const picture = svg.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"')
    .replace('style="', 'style="background:#fff;')
  const label = part(svg, /aria-label="([^"]*)"/) ?? plain
  const words = [part(html, /class="fig-title"[^>]*>([^]*?)<\/p>/), part(html, /<figcaption>([^]*?)<\/figcaption>/)]
  const [title, caption] = words.map((said, place) => (said ? [shown({'text/markdown': place ? said : `**${said}**`})] : []))
  return [...title, shown({'image/svg+xml': picture, 'text/plain': label}), ...caption]
}

function light(output) {
  if (!output.data) return [output]
  const kinds = Object.keys(output.data).filter((kind) => !kind.startsWith('application/vnd.'))
  const data = Object.fromEntries(kinds.map((kind) => [kind, text(output.data[kind])]))
  if (kinds.length < Object.keys(output.data).length && !data['text/html'] && !data['text/markdown']) return []
  if (data['text/html']?.includes('<svg')) return figure(data['text/html'], data['text/plain'])
  if (/<(script|iframe)/.test(data['text/html'])) delete data['text/html']
  return [{...output, data}]
}

fs.mkdirSync(out, {recursive: true})
for (const name of fs.readdirSync(notebooks).filter((file) => /^[a-z].*\.ipynb$/.test(file))) {
  const [source, ran] = [notebooks, executed].map((folder) => read(path.join(folder, name)))
  for (const cell of source.cells) {
    const twin = ran.cells.find((other) => other.id === cell.id)
    if (!twin || text(twin.source) !== text(cell.source)) throw new Error(`${name} is not the notebook that ran`)
    if (cell.cell_type !== 'code') continue
    cell.execution_count = twin.execution_count
    if (!cell.metadata.tags?.some((tag) => ASKS.includes(tag))) cell.outputs = twin.outputs.flatMap(light)
  }
  fs.writeFileSync(path.join(out, name), JSON.stringify(source, null, 1) + '\n')
}
console.log(`The notebooks with their outputs: ${out}`)
