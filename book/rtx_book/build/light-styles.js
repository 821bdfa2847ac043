// For lighten.js: one style sheet of many, without the rules that no page can use.
/* global module, require */
const fs = require('fs')
const path = require('path')

// The text with each `@import` in its place and every address as it is seen from the folder `target`.
function gathered(file, target) {
  const folder = path.dirname(file)
  const there = (address) => path.relative(target, path.join(folder, address)).split(path.sep).join('/')
  return fs.readFileSync(file, 'utf8')
    .replace(/@charset[^;]*;/g, '')
    .replace(/url\(\s*(["']?)(?!["']?(?:data:|#|https?:|vendor\/))([^"')]+)\1\s*\)/g, (_, quote, address) => `url(${there(address)})`)
    .replace(/@import\s+(?:url\()?["']([^"']+)["']\)?\s*;/g, (_, address) => gathered(path.join(folder, address), target))
}

// The rules of a sheet as [head, body]; a statement without a body has none.
function* rules(css) {
  const part = /\/\*[^]*?\*\/|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|url\([^"')]*\)|[{};]|[^"'{};/u]+|[^]/gy
  let head = '', body = '', depth = 0
  for (const [token] of css.matchAll(part)) {
    if (token.startsWith('/*')) continue
    if (token === '}' && --depth === 0) {
      yield [head.trim(), body]
      head = body = ''
    } else if (token === '{' && depth++ === 0) continue
    else if (depth > 0) body += token
    else if (token === ';') {
      yield [head.trim(), null]
      head = ''
    } else head += token
  }
}

// What is in brackets, as in `:not(.a)`, decides nothing.
function bare(selector) {
  let text = selector, before
  do [before, text] = [text, text.replace(/\([^()]*\)/g, '')]
  while (text !== before)
  return text
}

function alternatives(head) {
  const found = ['']
  let depth = 0
  for (const letter of head) {
    if (letter === '(' || letter === '[') depth++
    if (letter === ')' || letter === ']') depth--
    if (letter === ',' && depth === 0) found.push('')
    else found[found.length - 1] += letter
  }
  return found.map((one) => one.trim())
}

// The sheet without rules for classes that stand in no page and in no script.
function pruned(css, used) {
  const wanted = (selector) =>
    [...bare(selector).matchAll(/\.((?:[\w-]|\\.)+)/g)].every(([, name]) => used.has(name.replace(/\\/g, '')))
  let text = ''
  for (const [head, body] of rules(css)) {
    if (body === null) text += `${head};`
    else if (/^@(media|supports|layer|container)/.test(head)) {
      const inner = pruned(body, used)
      if (inner) text += `${head}{${inner}}\n`
    } else if (head.startsWith('@')) text += `${head}{${body}}\n`
    else {
      const kept = alternatives(head).filter(wanted)
      if (kept.length) text += `${kept.join(',')}{${body.trim()}}\n`
    }
  }
  return text
}

module.exports = {gathered, pruned}
