// The notebooks with what they showed, and their figures as files: `node edition.js EXECUTED NOTEBOOKS OUT`. GitHub and a
// JupyterLab that does not trust a file run no script and drop a drawing inside HTML, so a figure becomes its title, a
// picture and its caption. Fields and solutions stay away. All else is the source's own, and a copy of another source is
// refused. Every picture also goes to OUT/figures, with its alt text as its title, the licence, and a list of them all.
/* global require, process */
const fs = require('fs')
const path = require('path')

const [executed, notebooks, out] = process.argv.slice(2)
const ASKS = ['hide-cell', 'remove-input']
const LICENCE = 'CC BY 4.0, https://creativecommons.org/licenses/by/4.0/'
const NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
const read = (file) => JSON.parse(fs.readFileSync(file, 'utf8'))
const text = (value) => [value ?? ''].flat().join('')
const shown = (data) => ({output_type: 'display_data', metadata: {}, data})
const part = (html, pattern) => (html.match(pattern) ?? [])[1]
const label = (svg) => part(svg, /aria-label="([^"]*)"/) ?? ''

// Some programs know no `transform-origin`, which holds a text's turn on a page: here the turn says its own centre
function unpin(tag) {
  const [pin, x, y] = tag.match(/(?:; )?transform-origin: ([\d.-]+)px ([\d.-]+)px/)
  return tag.replace(pin, '').replace(/transform="([^"]*)"/, (_, turn) => {
    const [turned, moved] = turn.split(' translate')
    const around = turned.includes('rotate') ? turned.replace(')', ` ${x} ${y})`) : turned
    return `transform="${moved ? `translate${moved} ${turned}` : around}"`
  })
}
// The drawings of an output as files of their own; the ground of a page is white there
const drawings = (html) => (html.match(/<svg\b[^>]*\brole="img"[^]*?<\/svg>/g) ?? []).map((svg) => svg
  .replace(/var\(--pst-color-background,[^)]*\){3}/g, '#fff').replace(/--\w+:[^;"]*;?/g, '')
  .replace(/<\w+\b[^>]*transform-origin: [\d.-]+px[^>]*>/g, unpin).replace(' preserveAspectRatio="none"', '')
  .replace(/<svg([^>]*)>/, (_, own) => `<svg ${NAMESPACES}${own.replace('style="', 'style="background:#fff;')}>`
    + `<title>${label(svg)}</title><metadata>${LICENCE}</metadata>`))

function figure(html) {
  const words = [part(html, /class="fig-title"[^>]*>([^]*?)<\/p>/), part(html, /<figcaption>([^]*?)<\/figcaption>/)]
  const [title, caption] = words.map((said, place) => (said ? [shown({'text/markdown': place ? said : `**${said}**`})] : []))
  const [picture] = drawings(html)
  return [...title, shown({'image/svg+xml': picture, 'text/plain': label(picture)}), ...caption]
}

function light(output) {
  if (!output.data) return [output]
  const kinds = Object.keys(output.data).filter((kind) => !kind.startsWith('application/vnd.'))
  const data = Object.fromEntries(kinds.map((kind) => [kind, text(output.data[kind])])), html = data['text/html'] ?? ''
  if (kinds.length < Object.keys(output.data).length && !html && !data['text/markdown']) return []
  if (drawings(html).length) return figure(html)
  if (/<(script|iframe)/.test(html)) delete data['text/html']
  return [{...output, data}]
}

const list = [`Figures: ${LICENCE}\n`]
fs.mkdirSync(path.join(out, 'figures'), {recursive: true})
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
  const outputs = ran.cells.flatMap((cell) => cell.outputs ?? [])
  outputs.flatMap(({data}) => drawings(text(data?.['text/html']))).forEach((svg, place) => {
    const file = `${path.basename(name, '.ipynb')}-${String(place + 1).padStart(2, '0')}.svg`
    fs.writeFileSync(path.join(out, 'figures', file), svg)
    list.push(`- \`${file}\`: ${label(svg)}`)
  })
}
fs.writeFileSync(path.join(out, 'figures', 'figures.md'), list.join('\n') + '\n')
console.log(`The notebooks with their outputs: ${out}; ${list.length - 1} figures: ${path.join(out, 'figures')}`)
