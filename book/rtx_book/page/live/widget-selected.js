// "What Mamba lets in": letters among blanks, how much time each model takes for every place, delta, and what each writes
// back when it is asked. The reader types.
RTX.part('widget-selected', (RTX) => {
  const {el, select, button, voice, BitReader} = RTX
  const MOST = 128, PAUSE = 700, LANE = 112, HEAD = 22, LEFT = 46, RIGHT = 8, LEAST = 9, WIDEST = 20, SAME = 1e-6
  const PLACES = ['at', 'one place after', 'two places after', 'three places after']
  const ALL = 'abcdefghijklmnopqrstuvwxyz', BLANK = '.', GAP = /[ _·]/g
  const largest = (values) => values.indexOf(Math.max(...values))
  const short = (v) => String(+v.toPrecision(2))
  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length  // of none, NaN

  // options: symbols, how many letters there are; tokens and places, of a sequence of the training; text, what stands
  // there at first. models: stacks of Mamba's block, by their names.
  RTX.widget('selected', (body, {symbols = 14, tokens = 4, places = 28, text}, models) => {
    const names = Object.keys(models), said = voice(), chance = RTX.random(Date.now()), letters = ALL.slice(0, symbols)
    const readers = Object.fromEntries(names.map((name) => [name, new BitReader(models[name].weights)]))
    const now = {layer: 0, of: 'most', at: 0}, runs = {}
    let typed = '', wanted = [], since = [], saying = 0  // since: the places since the last letter

    // ---- what the reader types
    const field = el('input', {type: 'text', className: 'selected-field', spellcheck: false, autocomplete: 'off',
      autocapitalize: 'off', maxLength: MOST, onkeyup: follow, onclick: follow, oninput: () => {
        const at = field.selectionStart
        field.value = field.value.toLowerCase().replace(GAP, BLANK)
        field.setSelectionRange(at, at)
        read(field.value)
      }})
    function put(next) {
      field.value = next
      now.at = Math.max(0, [...next].findIndex((c) => c !== BLANK))
      read(next)
    }
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
      const fault = !next ? 'Nothing is typed.'
        : other ? `Letters go from a to ${letters.at(-1)}, and “${other}” is none of them.` : ''
      field.setAttribute('aria-invalid', String(Boolean(fault)))
      clearTimeout(saying)
      if (fault) { said.say(`${fault} The last valid input is shown.`); return }
      typed = next
      wanted = [...typed].filter((c) => c !== BLANK)
      let last = Infinity
      since = Array.from(`${typed}${BLANK.repeat(wanted.length)}`, (c) => last = c === BLANK ? last + 1 : 0)
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

    // ---- the step sizes: the mean of all channels, or the channel that opens widest where a letter is seen
    const reachOf = (name) => readers[name].mixers[now.layer].reach
    const logs = (name, channel) => runs[name].steps.map(({layers}) => {
      const {delta} = layers[now.layer]
      return channel === null ? mean(Array.from(delta, Math.log)) : Math.log(delta[channel])
    })
    // Means of these logarithms: at letters, 1, 2, ... places after one, as far as the convolution sees; and far from all
    function groups(name, values) {
      const reach = reachOf(name), all = Array.from({length: reach + 1}, () => [])
      values.slice(0, typed.length).forEach((v, t) => {  // at the first places the convolution does not see blanks, but nothing
        if (since[t] < reach || t >= reach - 1) all[Math.min(since[t], reach)].push(v)
      })
      const far = mean(all.pop()), after = all.map(mean), gaps = after.map((v) => v - far || 0), most = largest(gaps.map(Math.abs))
      return {far, after, most, gap: Math.max(...gaps)}
    }
    const gapsOf = (name) => Array.from(runs[name].steps[0].layers[now.layer].delta, (_, e) => groups(name, logs(name, e)).gap)
    function deltas(name) {
      const gaps = now.of === 'mean' ? [0] : gapsOf(name)
      const channel = Math.max(...gaps) > SAME ? largest(gaps) : null, values = logs(name, channel)
      return {channel, values: values.map(Math.exp), ...groups(name, values)}
    }
    function says(name, {channel, values, far, most, after}) {
      const of = channel === null ? `${name}, all channels` : `${name}, channel ${channel + 1}`
      const same = values.every((v) => Math.abs(v - values[0]) < SAME), where = PLACES[most] ?? `${most} places after`
      if (same) return `${of}: ${short(values[0])} at every place`
      if (!(Math.abs(after[most] - far) > SAME)) return `${of}: ${short(mean(values))} on average`
      return `${of}: ${short(Math.exp(after[most]))} ${where} a letter, ${short(Math.exp(far))} far from letters`
    }

    const svg = el('svg', {class: 'selected-picture', role: 'img', onclick: pick})
    const box = el('div', {className: 'selected-box', tabIndex: 0, role: 'region', 'aria-label': 'Step sizes; scrolls'}, svg)
    const title = el('p', {className: 'selected-title'}), words = el('p', {className: 'live-task'})
    const table = el('table', {className: 'selected-answers'})
    const answers = el('div', {className: 'selected-box', tabIndex: 0, role: 'region', 'aria-label': 'Answers; scrolls'}, table)
    const room = () => ((box.clientWidth || 640) - LEFT - RIGHT) / (typed.length + wanted.length)
    const step = () => Math.max(LEAST, Math.min(WIDEST, room()))
    // A press selects a letter in the field, so that the next key takes its place
    function pick(event) {
      const t = Math.floor((event.clientX - svg.getBoundingClientRect().left - LEFT) / step())
      if (t < 0 || t >= typed.length) return
      field.focus({preventScroll: true})
      field.setSelectionRange(t, t + 1)
      follow()
    }
    function show() {
      const wide = step(), n = typed.length + wanted.length, x = (t) => +(LEFT + t * wide).toFixed(1), end = x(n)
      const height = HEAD + names.length * LANE, own = Object.fromEntries(names.map((name) => [name, deltas(name)]))
      const text = (left, top, say, anchor = 'middle', name = '') =>
        el('text', {x: left, y: top, 'text-anchor': anchor, class: name}, say)
      const top = Math.max(...names.flatMap((name) => own[name].values)) * 1.05
      const lane = (name, k) => {
        const from = 2 * HEAD + k * LANE, foot = from + LANE - HEAD - 10, y = (v) => +(foot - (foot - from) * v / top).toFixed(1)
        const bar = (v, t) => `M${x(t + 0.15)} ${foot}V${y(v)}H${x(t + 0.85)}V${foot}z`
        const kind = (t) => since[t] === 0 ? 'letter' : since[t] < reachOf(name) ? 'near' : 'far'
        const bars = (is) => el('path', {class: `selected-${is}`,
          d: own[name].values.map((v, t) => kind(t) === is ? bar(v, t) : '').join('')})
        const ticks = RTX.linear(4)({from: 0, to: top}).flatMap((v) => [
          el('path', {class: 'selected-grid', d: `M${LEFT} ${y(v)}H${end}`}), text(LEFT - 5, y(v) + 4, String(v), 'end')])
        return [...ticks, ...['letter', 'near', 'far'].map(bars), text(LEFT, from - 6, name, 'start', 'selected-name')]
      }
      svg.setAttribute('viewBox', `0 0 ${end + RIGHT} ${height}`)
      svg.setAttribute('width', end + RIGHT)
      svg.replaceChildren(el('rect', {class: 'selected-at', x: x(now.at), y: 0, width: wide, height}),
        ...Array.from(typed, (c, t) => text(x(t + 0.5), 16, c === BLANK ? '·' : c, 'middle', c === BLANK ? '' : 'selected-sign')),
        ...wanted.map((_, k) => text(x(typed.length + k + 0.5), 16, '?')), ...names.flatMap(lane))
      title.textContent = `Δ of layer ${now.layer + 1}. ${names.map((name) => `${says(name, own[name])}.`).join(' ')}`
      if (x(now.at) - LEFT < box.scrollLeft || x(now.at + 1) > box.scrollLeft + box.clientWidth) {
        box.scrollLeft = x(now.at) - box.clientWidth / 2
      }
      const c = typed[now.at]
      words.textContent = `Place ${now.at + 1}, ${c === BLANK ? 'a blank' : `“${c}”`}: Δ is `
        + `${names.map((name) => `${short(own[name].values[now.at])} in ${name}`).join(', ')}.`
      svg.setAttribute('aria-label', `Step sizes at ${typed.length} places. ${title.textContent}`)
      table.replaceChildren(el('tbody', {}, row('asked for', wanted), names.map((name) => row(name, runs[name].answers, judge))))
    }
    const judge = (sign, k) => sign === wanted[k] ? 'right' : 'wrong'
    const row = (name, signs, state) => el('tr', {}, el('th', {scope: 'row'}, name), signs.map((sign, k) =>
      el('td', {className: state ? `selected-${state(sign, k)}` : ''}, el('b', {}, sign === BLANK ? '·' : sign),
        state ? el('span', {}, ` ${state(sign, k)}`) : null)))

    const layers = readers[names[0]].mixers.map((_, l) => l), views = {}
    for (const l of layers) {
      views[`most ${l}`] = `layer ${l + 1}, the channel that opens widest`
      views[`mean ${l}`] = `layer ${l + 1}, mean of all channels`
    }
    const view = select('Show Δ of', views, 'most 0', (value) => {
      const [of, layer] = value.split(' ')
      Object.assign(now, {of, layer: +layer})
      show()
    })
    const near = names.some((name) => reachOf(name) > 1) ? 'pale: the convolution still sees one; ' : ''
    const hint = el('p', {className: 'live-task', id: RTX.id('letters')}, `Letters a to ${letters.at(-1)}; a dot or a space is a blank. `
      + `Press a place to type over it. Orange: a letter; ${near}blue: the rest.`)
    field.setAttribute('aria-describedby', hint.id)
    body.append(el('label', {className: 'selected-label'}, el('span', {}, 'The sequence'), field), hint,
      el('div', {className: 'live-buttons'}, button('A new sequence', () => put(drawn(chance, places))),
        button('Twice as long', () => put(drawn(chance, 2 * places + tokens)))),
      el('div', {className: 'live-controls selected-view'}, view), title, box, words, answers, said.element)
    put(text || drawn(RTX.random(0), places))
    // It begins with the layer in which a channel of the first model opens widest
    now.layer = largest(layers.map((layer) => Math.max(...(now.layer = layer, gapsOf(names[0])))))
    view.querySelector('select').value = `most ${now.layer}`
    show()
    new ResizeObserver(() => requestAnimationFrame(show)).observe(body)
  })
})
