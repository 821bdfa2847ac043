// Write with it: a character model reads what is typed. Its guesses, what each character cost and where it looked,
// and where there is a memory, what more of it changes.
RTX.part('widget-write', (RTX) => {
  const {el, range, radios, select, button, voice, still, softmax} = RTX
  const {Reading, Comparison, character, mean, slices, shown, named, percent} = RTX
  const MOST = 1000, MORE = 120, TOP = 8, PAUSE = 700, COMPARED = 800, BEHIND = 4
  const MEMORIES = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512], TEMPERATURES = [0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.5, 2]

  // options: characters, the vocabulary in the order of its ids; text, what stands there at first; reads, by the name
  // of a model the settings of RTX.character
  RTX.widget('write', (body, {characters, text, reads = {}}, models) => {
    const names = Object.keys(models), made = {}
    for (const [name, {weights}] of Object.entries(models))
      made[name] = {weights, settings: {...reads[name]}, reading: null}
    const build = (name, settings = {}) => character(made[name].weights, {...made[name].settings, ...settings})
    const remembers = names.find((name) => made[name].settings.memory !== undefined)
    const now = {name: names[0], layer: 0, head: 'all', shows: 'looks', at: -1, temperature: 0.8}
    const written = new Set()  // places of what the model itself wrote
    const said = voice(), random = RTX.random(Date.now())
    let wanted = '', reading, endReading = () => {}, endComparing = () => {}, pausing = 0, timer = 0, left = 0

    // --- what the reader sees
    const area = el('textarea', {
      rows: 2, value: text, spellcheck: false, autocomplete: 'off', maxLength: MOST,
      oninput: () => { halt(); written.clear(); follow() },
    })
    const strip = el('div', {className: 'live-write-text', 'aria-hidden': 'true', onclick: (event) => {
      const place = event.target.dataset?.place
      if (place !== undefined) look(+place)
    }})
    const place = el('input', {type: 'range', min: 0, max: 0, step: 1, autocomplete: 'off', 'data-unkept': '',
      oninput: () => look(+place.value)})
    // How far it goes is known once the text is read: what a link wants waits for that
    const kept = RTX.kept('character', () => wanted || (isRead() && now.at < reading.rows.length - 1 ? String(now.at) : ''), (text) => {
      if (!/^\d*$/.test(text) || text >= reading.text.length) return false
      wanted = text
      if (isRead()) arrive()
    })
    const bars = el('ol', {className: 'live-write-bars', 'aria-label': 'What it expects next'})
    const tells = el('p', {className: 'live-task'}), next = el('p', {className: 'live-write-head'})
    const table = el('table', {className: 'live-write-table'})

    // --- reading
    function use(name) {
      now.name = name
      made[name].reading ||= new Reading(build(name), characters)
      reading = made[name].reading
      const heads = reading.model.heads
      controls.looks.hidden = !heads
      if (heads) controls.looks.replaceChildren(...pickers(reading.model.blocks.length, heads), shows)
      follow()
    }
    const isRead = () => reading.rows.length === reading.text.length
    function arrive() {
      look(wanted ? +wanted : reading.rows.length - 1)
      wanted = ''
    }
    function follow() {
      endReading()
      wanted = ''
      endComparing()
      reading.begin(area.value)
      endReading = slices(() => reading.step(), () => {
        place.max = Math.max(0, reading.rows.length - 1)
        arrive()
        clearTimeout(pausing)
        pausing = setTimeout(() => { tell(); compare() }, timer ? 2 * PAUSE : PAUSE)
      })
    }
    // The same text by every model, and by the one with a memory without it: bits, and time in turns
    function compare() {
      if (!remembers || timer) return
      endComparing()
      const text = reading.text.slice(0, COMPARED), all = {}
      if (text.length < 2) { table.replaceChildren(); return }
      for (const name of names) all[name] = build(name)
      all.none = build(remembers, {memory: 0})
      const comparison = new Comparison(all, text.map((c) => reading.ids.get(c)), made[remembers].settings.segment)
      endComparing = slices(() => comparison.step(), () => {
        const {none, ...others} = comparison.runs, {segment} = made[remembers].settings
        const behind = (i) => i >= segment && i % segment < BEHIND
        const line = (name, {bits, time}) => el('tr', {}, el('th', {scope: 'row'}, name),
          [mean(bits)?.toFixed(2), mean(bits, behind)?.toFixed(2) ?? '–', `${(time / none.time).toFixed(1)} ×`].map((t) => el('td', {}, t)))
        const heads = ['model', 'bits per character', `first ${BEHIND} behind a border`, 'time for one']
        table.replaceChildren(
          el('caption', {}, `The ${text.length} characters above, read by each just now in your browser`),
          el('thead', {}, el('tr', {}, heads.map((t) => el('th', {scope: 'col'}, t)))),
          el('tbody', {}, line(`${remembers}, memory 0`, none), Object.entries(others).map(([name, own]) =>
            line(name === remembers ? `${name}, memory ${made[name].settings.memory}` : name, own))))
      })
    }

    // --- looking
    const weightsAt = (i) => {
      const heads = reading.rows[i].attention?.[now.layer]
      if (!heads) return new Map()
      const chosen = now.head === 'all' ? heads : [heads[now.head]], S = heads[0].length
      return new Map(Array.from({length: S}, (_, s) =>
        [i - S + 1 + s, chosen.reduce((sum, p) => sum + p[s], 0) / chosen.length]))
    }
    function look(i) {
      now.at = i
      const {rows} = reading, r = rows[i]
      while (strip.children.length > rows.length) strip.lastChild.remove()
      if (!r) {
        for (const one of [bars, next, tells]) one.replaceChildren()
        tells.append('Type a few letters.')
        return
      }
      place.value = i
      const weights = weightsAt(i), looks = weights.size && now.shows === 'looks'
      const order = [...weights].sort((a, b) => b[1] - a[1]), most = looks ? order[0] : [-1, 1]
      rows.forEach(({c, bits}, k) => paint(k, c, looks ? (weights.get(k) || 0) / most[1] : (bits || 0) / 8,
        looks ? `${named(c)}: weight ${percent(weights.get(k) || 0)}` : `${named(c)}: ${(bits || 0).toFixed(1)} bits`, k === most[0]))
      const here = strip.children[i], top = here.offsetTop - strip.offsetTop
      if (top < strip.scrollTop || top + here.offsetHeight > strip.scrollTop + strip.clientHeight)
        strip.scrollTop = top - strip.clientHeight / 2
      const best = [...r.p.keys()].sort((a, b) => r.p[b] - r.p[a]).slice(0, TOP)
      bars.replaceChildren(...best.map((id) => el('li', {}, el('code', {}, shown(reading.characters[id])),
        el('i', {style: `width:${(100 * r.p[id] / r.p[best[0]]).toFixed(1)}%`}), el('span', {}, percent(r.p[id])))))
      next.textContent = i < rows.length - 1 ? 'What it expected after this character' : 'What it expects next'
      const cost = r.bits === null ? '' : `: it cost ${r.bits.toFixed(2)} bits`
      const where = order.slice(0, 3).map(([k, p]) => `${named(rows[k].c)} ${i - k ? `${i - k} back` : '(itself)'} ${percent(p)}`)
      const own = reading.bits((k) => !written.has(k))
      tells.textContent = `Character ${i + 1} of ${rows.length}, ${named(r.c)}${cost}. ` +
        `${where.length ? `Having read it, the model looked at ${where.join(', ')}. ` : ''}` +
        `${own === null ? '' : `What the model did not write itself: ${own.toFixed(2)} bits per character.`}`
      place.setAttribute('aria-valuetext', tells.textContent)
    }
    function paint(k, c, strength, title, first) {
      const e = strip.children[k] || strip.appendChild(el('span', {'data-place': k})), glyph = c === '\n' ? '⏎\n' : c
      if (e.textContent !== glyph) e.textContent = glyph
      const {segment, memory} = reading.model, edge = memory !== undefined && k && k % segment === 0
      e.className = [k === now.at && 'live-here', written.has(k) && 'live-made', edge && 'live-edge', first && 'live-top']
        .filter(Boolean).join(' ')
      const colour = now.shows === 'looks' && reading.model.heads ? 'hot' : 'cold'
      e.style.background = `color-mix(in srgb, var(--${colour}) ${Math.round(60 * Math.min(1, strength))}%, transparent)`
      e.title = title
    }
    function tell() {
      const r = reading.rows.at(-1)
      if (!r) { said.say('Nothing is written.'); return }
      const best = [...r.p.keys()].sort((a, b) => r.p[b] - r.p[a]).slice(0, 3)
      const unknown = [...new Set([...area.value].filter((c) => !reading.ids.has(c)))]
      said.say(`Next it expects ${best.map((id) => `${named(reading.characters[id])} ${percent(r.p[id])}`).join(', ')}.` +
        `${unknown.length ? ` Left out, as its text never had it: ${unknown.map(named).join(', ')}.` : ''}`)
    }

    // --- writing
    function halt() {
      clearTimeout(timer)
      timer = left = 0
      more.textContent = 'Continue'
    }
    function write() {
      if (!isRead()) { timer = setTimeout(write, 30); return }  // what comes next is known at the end only
      const r = reading.rows.at(-1)
      if (!r || !left || reading.rows.length >= MOST) {
        halt()
        if (r) said.say(`It wrote: ${reading.text.slice(-MORE).join('')}`)
        return
      }
      const p = softmax(r.logits, now.temperature)
      let u = random.uniform(), id = 0
      while (id < p.length - 1 && (u -= p[id]) > 0) id++
      written.add(reading.rows.length)
      area.value = reading.text.join('') + reading.characters[id]
      area.scrollTop = area.scrollHeight
      left--
      follow()
      timer = setTimeout(write, still() ? 0 : 30)
    }
    const more = button('Continue', () => {
      if (timer) { halt(); return }
      endComparing()
      more.textContent = 'Stop'
      left = MORE
      timer = setTimeout(write)
    })
    const again = button('Start again', () => { halt(); written.clear(); area.value = text; follow() })

    // --- controls
    const pickers = (layers, heads) => {
      const count = (n) => Object.fromEntries(Array.from({length: n}, (_, i) => [i, String(i + 1)]))
      now.layer = Math.min(now.layer, layers - 1)
      return [
        select('Layer', count(layers), now.layer, (value) => { now.layer = +value; look(now.at) }),
        select('Head', {all: 'all', ...count(heads)}, now.head, (value) => { now.head = value; look(now.at) }),
      ]
    }
    const shows = radios('Colours', {looks: 'where it looked', bits: 'bits'}, now.shows, (value) => { now.shows = value; look(now.at) })
    const controls = {looks: el('div', {className: 'live-controls'})}
    const memory = remembers && range('Memory', MEMORIES, MEMORIES.indexOf(made[remembers].settings.memory), (value) => {
      halt()
      made[remembers].settings.memory = value
      made[remembers].reading = null
      use(remembers)
      choice && choice.querySelectorAll('input').forEach((one) => { one.checked = one.value === remembers })
    }, (value) => `${value} characters`)
    const choice = names.length > 1 &&
      radios('Read by', Object.fromEntries(names.map((name) => [name, name])), now.name, (name) => { halt(); use(name) })
    body.append(...[  // what is drawn stands above the fold
      el('label', {className: 'live-write-field'}, el('span', {}, 'Your text'), area), strip,
      el('label', {className: 'live-range live-write-place'}, el('span', {}, 'Character'), place),
      el('div', {className: 'live-controls'}, memory?.label, choice),  // so a link moves the memory, which chooses its model, first
      el('div', {className: 'live-buttons'}, more, again,
        range('Temperature', TEMPERATURES, TEMPERATURES.indexOf(now.temperature), (value) => { now.temperature = value }).label),
      controls.looks,
      tells, next, bars, remembers && table, said.element, kept].filter(Boolean))
    use(now.name)
  })
})
