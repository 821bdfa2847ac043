// "What Mamba lets in": letters among blanks, how much time each model takes for every place, delta, and what each writes
// back when it is asked. The reader types.
RTX.part('widget-selected', (RTX) => {
  const {el, select, button, voice, BitReader} = RTX
  const MOST = 128, PAUSE = 700, LANE = 112, HEAD = 22, LEFT = 46, RIGHT = 8, LEAST = 9, WIDEST = 20
  const ALL = 'abcdefghijklmnopqrstuvwxyz', BLANK = '.', GAP = /[ _·]/g
  const largest = (values) => values.indexOf(Math.max(...values))
  const short = (v) => String(+v.toPrecision(2))
  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length
  const geometric = (values) => Math.exp(mean(Array.from(values, Math.log)))

  // options: symbols, how many letters there are; tokens and places, of a sequence of the training; text, what stands
  // there at first. models: stacks of Mamba's block, by their names.
  RTX.widget('selected', (body, {symbols = 14, tokens = 4, places = 28, text}, models) => {
    const names = Object.keys(models), said = voice(), chance = RTX.random(Date.now()), letters = ALL.slice(0, symbols)
    const readers = Object.fromEntries(names.map((name) => [name, new BitReader(models[name].weights)]))
    const now = {layer: 0, of: 'mean', at: 0}, runs = {}
    let typed = '', wanted = [], saying = 0

    // ---- what the reader types
    const field = el('input', {type: 'text', className: 'selected-field', spellcheck: false, autocomplete: 'off', autocapitalize: 'off',
      maxLength: MOST, oninput: () => {
        const at = field.selectionStart
        field.value = field.value.toLowerCase().replace(GAP, BLANK)
        field.setSelectionRange(at, at)
        read(field.value)
      }, onkeyup: follow, onclick: follow})
    const put = (next) => { field.value = next; read(next) }
    function follow() {
      now.at = Math.max(0, Math.min(typed.length - 1, field.selectionStart - (field.selectionStart === field.selectionEnd)))
      show()
    }
    function drawn(random, n) {
      const row = Array(n).fill(BLANK)
      for (let left = tokens; left;) {
        const t = random.below(n)
        if (row[t] === BLANK) { row[t] = letters[random.below(symbols)]; left-- }
      }
      return row.join('')
    }

    // ---- the models read
    function read(next) {
      const other = [...next].find((c) => c !== BLANK && !letters.includes(c))
      const fault = !next ? 'Nothing is typed yet.' : other ? `Letters go from a to ${letters.at(-1)}, and “${other}” is none of them.` : ''
      field.setAttribute('aria-invalid', String(Boolean(fault)))
      clearTimeout(saying)
      if (fault) { said.say(`${fault} Shown is what stood there before.`); return }
      typed = next
      wanted = [...typed].filter((c) => c !== BLANK)
      const ids = Array.from(typed, (c) => 1 + letters.indexOf(c)), asked = wanted.map(() => symbols + 1)
      for (const name of names) {
        const steps = readers[name].run([...ids, ...asked]), signs = `${BLANK}${letters}?`
        runs[name] = {steps, answers: steps.slice(ids.length).map(({logits}) => signs[largest(logits)])}
      }
      now.at = Math.min(now.at, typed.length - 1)
      show()
      saying = setTimeout(() => said.say(tell()), PAUSE)
    }
    const right = (name) => runs[name].answers.filter((answer, k) => answer === wanted[k]).length
    function tell() {
      if (!wanted.length) return 'There are no letters, so nothing is asked.'
      const longer = typed.length > places || wanted.length > tokens ? ` The training had ${tokens} letters in ${places} places.` : ''
      return `${wanted.length} of ${typed.length} places hold a letter. `
        + `${names.map((name) => `${name}: ${right(name)} of ${wanted.length} right.`).join(' ')}${longer}`
    }

    // ---- the step sizes: of the mean of all channels, or of the one in which letters and blanks lie furthest apart
    const logs = (name, channel) => runs[name].steps.slice(0, typed.length).map(({layers}) => Math.log(layers[now.layer].delta[channel]))
    function gap(name, channel) {
      const all = logs(name, channel), of = (blank) => all.filter((_, t) => (typed[t] === BLANK) === blank)
      return wanted.length && wanted.length < typed.length ? Math.abs(mean(of(false)) - mean(of(true))) : 0
    }
    function deltas(name) {
      const all = runs[name].steps.map(({layers}) => layers[now.layer].delta)
      const channel = now.of === 'mean' ? null : largest(Array.from(all[0], (_, e) => gap(name, e)))
      return {channel, values: all.map((own) => channel === null ? geometric(own) : own[channel])}
    }

    const svg = el('svg', {class: 'selected-picture', role: 'img', onclick: pick}), title = el('p', {className: 'selected-title'})
    const box = el('div', {className: 'selected-box', tabIndex: 0, role: 'region', 'aria-label': 'Step sizes; scrolls'}, svg)
    const table = el('table', {className: 'selected-answers'}), words = el('p', {className: 'live-task'})
    const step = () => Math.max(LEAST, Math.min(WIDEST, ((box.clientWidth || 640) - LEFT - RIGHT) / (typed.length + wanted.length)))
    // A press selects a letter in the field, so that the next key takes its place
    function pick(event) {
      const t = Math.floor((event.clientX - svg.getBoundingClientRect().left - LEFT) / step())
      if (t < 0 || t >= typed.length) return
      field.focus({preventScroll: true})
      field.setSelectionRange(t, t + 1)
      follow()
    }
    function show() {
      const wide = step(), n = typed.length + wanted.length, x = (t) => +(LEFT + t * wide).toFixed(1), end = x(n), height = 24 + names.length * LANE
      const own = Object.fromEntries(names.map((name) => [name, deltas(name)])), text = (left, top, say, anchor = 'middle', name = '') =>
        el('text', {x: left, y: top, 'text-anchor': anchor, class: name}, say)
      const top = Math.max(...names.flatMap((name) => own[name].values)) * 1.05
      const lane = (name, k) => {
        const from = 24 + k * LANE + HEAD, foot = from + LANE - HEAD - 10, y = (v) => +(foot - (foot - from) * v / top).toFixed(1)
        const bars = (which) => own[name].values.map((v, t) => (typed[t] !== BLANK && t < typed.length) === which
          ? `M${x(t + 0.15)} ${foot}V${y(v)}H${x(t + 0.85)}V${foot}z` : '').join('')
        return [...RTX.linear(3)({from: 0, to: top}).flatMap((v) => [
          el('path', {class: 'selected-grid', d: `M${LEFT} ${y(v)}H${end}`}), text(LEFT - 5, y(v) + 4, String(v), 'end')]),
          el('path', {class: 'selected-blank', d: bars(false)}), el('path', {class: 'selected-letter', d: bars(true)}),
          text(LEFT, from - 6, name, 'start', 'selected-name')]
      }
      svg.setAttribute('viewBox', `0 0 ${end + RIGHT} ${height}`)
      svg.setAttribute('width', end + RIGHT)
      svg.replaceChildren(el('rect', {class: 'strip-at', x: x(now.at), y: 0, width: wide, height}),
        ...Array.from(typed, (c, t) => text(x(t + 0.5), 16, c === BLANK ? '·' : c, 'middle', c === BLANK ? '' : 'selected-sign')),
        ...wanted.map((_, k) => text(x(typed.length + k + 0.5), 16, '?')), ...names.flatMap(lane))
      const which = (name) => own[name].channel === null ? '' : `, channel ${own[name].channel + 1}`
      const of = (name, blank) => {
        const some = own[name].values.filter((_, t) => t < typed.length && (typed[t] === BLANK) === blank)
        return some.length ? short(geometric(some)) : '–'
      }
      title.textContent = `Δ of layer ${now.layer + 1}${now.of === 'mean' ? ', mean of all channels' : ''}. `
        + names.map((name) => of(name, true) === of(name, false) ? `${name}${which(name)}: ${of(name, true)} everywhere`
          : `${name}${which(name)}: ${of(name, false)} at letters, ${of(name, true)} at blanks`).join('; ') + '.'
      const c = typed[now.at]
      words.textContent = `Place ${now.at + 1}, ${c === BLANK ? 'a blank' : `“${c}”`}: Δ is `
        + `${names.map((name) => `${short(own[name].values[now.at])} in ${name}`).join(', ')}.`
      svg.setAttribute('aria-label', `Step sizes at ${typed.length} places. ${title.textContent}`)
      table.replaceChildren(el('tbody', {}, row('asked for', wanted, null), names.map((name) => row(name, runs[name].answers, wanted))))
    }
    const row = (name, signs, wanted) => el('tr', {}, el('th', {scope: 'row'}, name), signs.map((sign, k) => {
      const state = wanted ? sign === wanted[k] ? 'right' : 'wrong' : ''
      return el('td', {className: state && `selected-${state}`}, el('b', {}, sign === BLANK ? '·' : sign), state && el('span', {}, ` ${state}`))
    }))

    const layers = new Set(names.map((name) => readers[name].mixers.length)), views = {}
    for (let l = 0; l < Math.max(...layers); l++) {
      views[`mean ${l}`] = `layer ${l + 1}, mean of all channels`
      views[`most ${l}`] = `layer ${l + 1}, the channel that tells most`
    }
    const view = select('Δ of', views, 'mean 0', (value) => {
      const [of, layer] = value.split(' ')
      Object.assign(now, {of, layer: +layer})
      show()
    })
    const hint = el('p', {className: 'live-task'}, `Letters a to ${letters.at(-1)}; a dot or a space is a blank. Press a place to type over it.`)
    body.append(el('label', {className: 'selected-label'}, el('span', {}, 'The sequence'), field), hint,
      el('div', {className: 'live-buttons'}, button('A new sequence', () => put(drawn(chance, places))),
        button('Twice as long', () => put(drawn(chance, 2 * places + tokens))), button('All blanks', () => put(BLANK.repeat(places)))),
      el('div', {className: 'live-controls'}, view), title, box, words, table, said.element)
    put(text || drawn(RTX.random(0), places))
    new ResizeObserver(() => requestAnimationFrame(show)).observe(body)
  })
})
