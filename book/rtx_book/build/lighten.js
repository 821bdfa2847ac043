// Makes the finished pages light: `node lighten.js SITE NODE_MODULES`. It sets the formulas, which no reader's browser
// then has to do, puts all style sheets into one with the rules that some page can use, and lets scripts wait until the
// page is there. What it does not know it leaves as it is.
/* global require, process */
const fs = require('fs')
const path = require('path')
const {createHash} = require('crypto')

const [site, modules] = process.argv.slice(2)
const STATIC = path.join(site, '_static')
const FONTS = 'vendor/mathjax/output/chtml/fonts/woff-v2'
const BUNDLE = 'all.css'

const files = (folder, suffix) =>
  fs.readdirSync(folder, {withFileTypes: true, recursive: true})
    .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
const read = (file) => fs.readFileSync(file, 'utf8')
const pages = new Map(files(site, '.html').filter((file) => !file.startsWith(STATIC)).map((file) => [file, read(file)]))

// ---------------------------------------------------------------------------------------------------- formulas

const FORMULA = /(<(span|div) class="math[^>]*>(?:\s*<span class="eqno">.*?<\/span>)?\s*)\\([([])([^]*?)\\[)\]](<\/\2>)/g
const MATHJAX = /<script[^>]*mathjax[^>]*><\/script>\n?|<script>window\.MathJax = .*?<\/script>\n?/g
const ENTITIES = {lt: '<', gt: '>', quot: '"', amp: '&'}
const source = (text) =>
  text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(code)).replace(/&(lt|gt|quot|amp);/g, (_, name) => ENTITIES[name])

// A set formula bears its source, which a reader who copies gets (site.js), and can be scrolled by key where it is wide.
function dressed(markup, tex, display) {
  const attribute = tex.trim().replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;')
  const opening = `<mjx-container data-tex="${attribute}"${display ? ' tabindex="0"' : ''}`
  return markup.replace(' style="position: relative;"', '').replace('<mjx-container', opening)
}

async function setFormulas() {
  const MathJax = await require(path.join(modules, 'mathjax/es5/node-main.js')).init({
    loader: {load: ['input/tex', 'output/chtml', 'a11y/assistive-mml']},
    chtml: {fontURL: FONTS},
  })
  const {adaptor} = MathJax.startup
  const set = new Map()
  for (const [file, page] of pages) {
    for (const [, , , kind, text] of page.matchAll(FORMULA)) {
      if (set.has(kind + text)) continue
      const tex = source(text)
      const markup = adaptor.outerHTML(await MathJax.tex2chtmlPromise(tex, {display: kind === '['}))
      if (/<mjx-merror|data-mjx-error/.test(markup)) throw new Error(`${path.relative(site, file)}: MathJax cannot set ${tex}`)
      set.set(kind + text, dressed(markup, tex, kind === '['))
    }
    const put = (_, open, _tag, kind, text, close) => open + set.get(kind + text) + close
    pages.set(file, page.replace(FORMULA, put).replace(MATHJAX, ''))
  }
  const rules = adaptor.textContent(MathJax.chtmlStylesheet()).replace(/@font-face[^{]*\{/g, '$&font-display:swap;')
  // 0.442 is the x-height of MathJax's font: a small letter of a formula is as tall as one of the text around it.
  return `${rules}\nmjx-container[jax]{position:relative;font-size:${(1 / 0.442).toFixed(3)}ex}`
}

// ---------------------------------------------------------------------------------------------------- pages

// What a page carries that nobody sees: spans around code that has the colour of all text, and in pictures the groups
// that only bear a name of Matplotlib's to which nothing refers.
const PLAIN = /<span class="(?:n|p|w|nn|nx)">([^<]*)<\/span>|<span><\/span>/g
const NAMED = / id="(\w+-(?:matplotlib\.)?[A-Za-z0-9]+_\d+)"/g
function slim(page) {
  const referred = new Set([...page.matchAll(/#([\w.-]+)/g)].map(([, id]) => id))
  return page
    .replace(/<pre>[^]*?<\/pre>/g, (code) => code.replace(PLAIN, '$1'))
    .replace(/<svg[^]*?<\/svg>/g, (picture) => {
      const open = []
      return picture.replace(NAMED, (name, id) => (referred.has(id) ? name : '')).replace(/<(\/?)g\b[^>]*>/g, (tag, end) => {
        if (!end && !tag.endsWith('/>')) open.push(tag !== '<g>')
        return end ? (open.pop() ? tag : '') : tag === '<g>' ? '' : tag
      })
    })
}

const OWN = /(book|site|generated)\.css$/  // scripts may make names of classes out of pieces
const SHEET = /[ \t]*<link[^>]*rel="stylesheet"[^>]*>\n?/g
const address = (tag) => tag.match(/(?:href|src)="([^"?]*)/)[1]
const local = (file, tag) => path.join(path.dirname(file), address(tag))

// A sheet with what it imports, and its addresses as they are seen from the folder of the bundle.
function gathered(sheet) {
  const seen = (address) => path.relative(STATIC, path.join(path.dirname(sheet), address)).split(path.sep).join('/')
  return read(sheet).replace(/@charset[^;]*;/g, '')
    .replace(/url\(\s*(["']?)(?!["']?(?:data:|#|https?:|vendor\/))([^"')]+)\1\s*\)/g, (_, quote, address) => `url(${seen(address)})`)
    .replace(/@import "([^"]*)";/g, (_, address) => gathered(path.join(path.dirname(sheet), address)))
}

async function bundle(maths) {
  const {PurgeCSS} = require(path.join(modules, 'purgecss'))
  const sheets = new Set()
  for (const [file, page] of pages) for (const [tag] of page.matchAll(SHEET)) sheets.add(local(file, tag))
  const scripts = files(STATIC, '.js').filter((file) => !/weights-|vendor|passages/.test(file)).map(read)
  const content = [...pages.values(), ...scripts].map((raw) => ({raw, extension: 'html'}))
  const all = [...sheets], others = all.filter((sheet) => !OWN.test(sheet)).map((sheet) => ({raw: gathered(sheet), name: sheet}))
  const light = new Map((await new PurgeCSS().purge({content, css: others})).map(({css, file}) => [file, css]))
  const css = [...all.map((sheet) => light.get(sheet) ?? gathered(sheet)), maths].join('\n')
  fs.writeFileSync(path.join(STATIC, BUNDLE), css)
  return createHash('sha256').update(css).digest('hex').slice(0, 8)
}

// The theme's script finds out later whether "auto" is light or dark, and the whole page gets its styles once more.
const SCHEME = '= ["light", "dark"].find((one) => one === document.documentElement.dataset.mode) ?? ' +
  '(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");'

// After each change of the page the theme asks of every box whether it scrolls and tells it at once, folded ones too, so
// that the page is laid out a hundred times. All in sight are asked before the first is told; in folds all count as boxes
// that scroll, and what has scrolled once, on a narrow window or on paper, goes on doing so.
function calmed(script) {
  const asked = /\.forEach\((\w)=>\{\1\.tabIndex=([^{}]*)\?0:-1\}\)/
  const change = 't!==null&&all[i].getAttribute("tabindex")!==String(t)&&(all[i].tabIndex=t)'
  const listens = /window\.addEventListener\("resize",(\w)\)(?=,new MutationObserver\(\1\))/
  return script
    .replace(asked, (_, box, scrolls) =>
      `.forEach((_,i,all)=>{i||Array.from(all,${box}=>${box}.checkVisibility()?${scrolls}?0:null:0).forEach((t,i)=>{${change}})})`)
    .replace(listens, '$&,document.addEventListener("toggle",$1,!0)')
}

// Scripts of the head run in their order when the page has been read; those that only say a setting run at once, and the
// settings of the documentation, which some of these change, stand in the page itself.
function headed(file, page, version) {
  const up = '../'.repeat(path.relative(site, file).split(path.sep).length - 1)
  const [head, ...rest] = page.split('</head>')
  let first = true
  const light = head
    .replace(SHEET, () => {
      const tag = first ? `    <link rel="stylesheet" href="${up}_static/${BUNDLE}?v=${version}" />\n` : ''
      first = false
      return tag
    })
    .replace(/[ \t]*<link rel="preload" as="script"[^>]*>\n?/g, '')
    .replace(/<script src="[^"]*documentation_options\.js[^"]*"><\/script>/, (tag) => `<script>${read(local(file, tag))}</script>`)
    .replace(/<script (?=[^>]*src=)(?![^>]*defer)/g, '<script defer ')
    .replace('= localStorage.getItem("theme") || "auto";', SCHEME)
  return [light, ...rest].join('</head>')
}

setFormulas().then(async (maths) => {
  const version = await bundle(maths)
  for (const [file, page] of pages) fs.writeFileSync(file, headed(file, slim(page), version))
  const theme = path.join(STATIC, 'scripts/pydata-sphinx-theme.js')
  fs.writeFileSync(theme, calmed(read(theme)))
}).catch((error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exitCode = 1
})
