// "Is the number of ones odd?": the reader writes bits, and trained models answer at every step. A table holds every
// step, a picture all of them at once, and below the answers stands the state of one unit.
RTX.part('widget-parity', (RTX) => {
  const {el, button, more, radios, select, voice, BitReader, bitsOf, parities, judge, tells, mostBits} = RTX
  const PAUSE = 700, BEST = 'best', WORD = ['even', 'odd']
  const minus = (v, digits = 2) => (Math.abs(v) < 0.5 * 10 ** -digits ? 0 : v).toFixed(digits).replace('-', '−')
  const plus = (v) => minus(v).replace(/^(−?)/, (sign) => `${sign || '+'} `)
  const steps = (n) => `${n.toLocaleString('en')} ${n === 1 ? 'step' : 'steps'}`
  const largest = (values) => values.indexOf(Math.max(...values))

  // options: trained, the steps of a sequence in the training; long, those of a long one; bits, what stands there at
  // first, a text of 0 and 1; reads, by the name of a model the settings of RTX.BitReader; look, by its name the class of
  // its line in live.css. models: by their names.
  RTX.widget('parity', (body, {trained = 40, long = 256, bits: given, reads = {}, look = {}}, models) => {
    const names = Object.keys(models), voiced = voice(), chance = RTX.random(Date.now())
    const readers = Object.fromEntries(names.map((name) => [name, new BitReader(models[name].weights, reads[name])]))
    const draw = (random, n) => Array.from({length: n}, () => random.below(2))
    const now = {name: names[0], unit: BEST, at: 1}
    const runs = {}, said = {}
    let bits = [], odd = [], columns = [], saying = 0, beyond = false

    // ---- what the reader does
    const area = el('textarea', {rows: 2, spellcheck: false, autocomplete: 'off', inputMode: 'numeric', oninput: () => {
      const {bits: typed, fault} = bitsOf(area.value)
      area.setAttribute('aria-invalid', String(Boolean(fault)))
      if (!fault) { read(typed, typed.length); return }
      clearTimeout(saying)
      voiced.say(`${fault} The last valid input is shown.`)
    }})
    const put = (next, at = 1) => {
      area.value = next.join('')
      area.setAttribute('aria-invalid', 'false')
      read(next, at)
    }
    const write = (bit, at) => put([...bits.slice(0, at - 1), bit, ...bits.slice(at)].slice(0, mostBits), at)
    // In the table: at the chosen step, then at the next one, and at the end further on
    function type(bit) {
      const at = Math.min(mostBits, now.at + beyond)
      write(bit, at)
      look_at(at + 1)
      beyond = at === bits.length
    }
    const flip = (at) => { if (at <= bits.length) write(1 - bits[at - 1], at) }
    const step = el('input', {type: 'range', min: 1, step: 1, autocomplete: 'off', 'aria-label': 'Step',
      oninput: () => look_at(+step.value)})
    const count = el('output', {'aria-live': 'off'}), words = el('p', {className: 'live-task'})
    const place = el('div', {className: 'live-controls'},
      el('label', {className: 'live-range'}, el('span', {}, 'Step'), step, count), button('Flip this bit', () => flip(now.at)))

    // ---- every step: a table in a box that scrolls and that takes keys
    const table = el('table', {className: 'parity-steps'})
    const box = el('div', {className: 'parity-box', tabIndex: 0, role: 'group', onkeydown: key,
      'aria-label': 'Every step. Arrows move, 0 and 1 write, space flips a bit, Backspace takes the last one away.'}, table)
    function key(event) {
      const {at} = now, to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 1, End: bits.length}[event.key]
      if (event.ctrlKey || event.altKey || event.metaKey) return
      if (to !== undefined) look_at(to)
      else if (event.key === '0' || event.key === '1') type(+event.key)
      else if (event.key === ' ') flip(at)
      else if (event.key === 'Backspace') put(bits.slice(0, -1), bits.length - 1)
      else return
      event.preventDefault()
    }
    function fill() {
      const from = (t) => t === trained ? 'parity-new' : ''
      const line = (name, values, mark = () => null) => el('tr', {}, el('th', {scope: 'row'}, name),
        values.map((value, t) => el('td', {className: from(t)}, String(value), mark(t))))
      const number = (t) => t === 1 || t % 5 === 0 ? t : ''
      const rows = [line('step', bits.map((_, t) => number(t + 1))), line('bit', bits), line('odd so far?', odd),
        ...names.map((name) => line(name, said[name].answers, (t) => said[name].wrong[t] ? el('span', {}, ' wrong') : null))]
      names.forEach((name, k) => said[name].wrong.forEach((is, t) => is && rows[k + 3].children[t + 1].classList.add('parity-bad')))
      rows[1].className = 'parity-bits'
      rows[1].onclick = ({target}) => { const at = target.cellIndex; if (at > 0) flip(at) }
      columns = bits.map((_, t) => rows.map((row) => row.children[t + 1]))
      table.style.setProperty('--steps', bits.length)
      table.replaceChildren(el('tbody', {}, rows))
    }

    // ---- all steps: the picture, and the unit that it shows
    const svg = el('svg', {class: 'parity-picture', role: 'img'}), title = el('p', {className: 'parity-title'})
    const unitsOf = (name) => (runs[name][0]?.layers ?? []).flatMap(({h}, layer) => Array.from(h, (_, unit) => ({layer, unit})))
    const statesOf = (name, {layer, unit}) => runs[name].map(({layers}) => layers[layer].h[unit])
    function shown() {
      const units = unitsOf(now.name)
      return now.unit === BEST ? units[largest(units.map((one) => tells(statesOf(now.name, one), odd)))] : units[now.unit]
    }
    const named = ({layer, unit}) => `unit ${unit + 1}${runs[now.name][0].layers.length > 1 ? ` of layer ${layer + 1}` : ''}`
    const choice = el('span')
    function offer() {
      const numbered = Object.fromEntries(unitsOf(now.name).map((one, k) => [` ${k}`, named(one)]))  // keeps the order
      const options = {[BEST]: 'the unit that tells best', ...numbered}
      choice.replaceChildren(select('shows', options, now.unit === BEST ? BEST : ` ${now.unit}`, (value) => {
        now.unit = value === BEST ? BEST : +value
        picture()
      }))
    }
    const verdict = ({right, first}) => right === bits.length ? 'right at every step'
      : `${Math.floor(100 * right / bits.length)}\u00a0% right, first wrong at ${first}`
    const verdicts = () => names.map((name) => `${name}: ${verdict(said[name])}.`).join(' ')
    // The factor a at the bits of one kind, in words, if the unit has one and there are such bits
    function factor(bit, {layer, unit}) {
      const found = runs[now.name].flatMap(({layers}, t) => bits[t] === bit && layers[layer].a ? [layers[layer].a[unit]] : [])
      if (!found.length) return ''
      const low = minus(Math.min(...found), 3), high = minus(Math.max(...found), 3)
      return `${low === high ? low : `${low} to ${high}`} at a ${bit ? 'one' : 'zero'}`
    }
    function picture() {
      const one = shown(), states = statesOf(now.name, one), factors = [factor(1, one), factor(0, one)].filter(Boolean)
      title.replaceChildren(el('strong', {}, `${now.name}, ${named(one)}`),
        `${factors.length ? `: its factor a is ${factors.join(', ')}` : ''}. Filled where the count is odd, rings where it is even.`)
      RTX.parityPicture(svg, {states, odd, trained, at: now.at, pick: (at) => look_at(at, true), look: look[now.name] || 'live-plain',
        lanes: names.map((name) => ({name, verdict: verdict(said[name]), wrong: said[name].wrong}))})
      svg.setAttribute('aria-label', `Where the models are wrong over ${steps(bits.length)}, and the state of ${named(one)} of `
        + `${now.name}. ${verdicts()}`)
      const {at} = now, before = at > 1 ? states[at - 2] : 0, {a, b} = runs[now.name][at - 1].layers[one.layer]
      words.textContent = `Step ${at} reads ${bits[at - 1]}; the number of ones is ${WORD[odd[at - 1]]}. `
        + (a ? `${now.name}: h = a × h before + b = ${minus(a[one.unit])} × ${minus(before)} ${plus(b[one.unit])} = `
          + `${minus(states[at - 1])}.`
          : `${now.name}: h goes from ${minus(before)} to ${minus(states[at - 1])}.`)
    }
    function look_at(at, scroll = false) {
      columns[now.at - 1]?.forEach((cell) => cell.classList.remove('parity-here'))
      now.at = Math.max(1, Math.min(bits.length || 1, at))
      beyond = false
      if (!bits.length) return
      columns[now.at - 1].forEach((cell) => cell.classList.add('parity-here'))
      step.value = now.at
      count.textContent = `${now.at} of ${bits.length}`
      step.setAttribute('aria-valuetext', `${count.textContent}: bit ${bits[now.at - 1]}, ${WORD[odd[now.at - 1]]} so far; `
        + names.map((name) => `${name} says ${WORD[said[name].answers[now.at - 1]]}`).join(', '))
      picture()
      const cell = columns[now.at - 1][0], head = table.querySelector('th').offsetWidth, left = cell.offsetLeft - head
      const out = left < box.scrollLeft || left + cell.offsetWidth > box.scrollLeft + box.clientWidth - head
      if (out || scroll) box.scrollLeft = left - (box.clientWidth - head) / 2
    }

    // ---- the models read
    function read(next, at) {
      bits = next
      odd = parities(bits)
      for (const name of names) {
        runs[name] = readers[name].run(bits)
        const answers = runs[name].map(({logits}) => largest(logits))
        said[name] = {answers, ...judge(answers, odd)}
      }
      const none = !bits.length
      for (const part of [svg, title, each]) part.toggleAttribute('hidden', none)
      step.max = Math.max(1, bits.length)
      if (!none) { fill(); offer() }
      look_at(at)
      clearTimeout(saying)
      saying = setTimeout(tell, voiced.element.textContent ? PAUSE : 0)
    }
    function tell() {
      const ones = bits.filter(Boolean).length
      voiced.say(!bits.length ? 'There are no bits. Type some, or press a button.'
        : `${bits.length} bits, ${ones} of them ones: ${WORD[odd.at(-1)]} at the end. `
          + verdicts() + (bits.length > trained ? ` The training had ${trained} steps.` : ''))
    }

    const chosen = el('div', {className: 'live-controls'}, names.length > 1
      ? radios('State of', Object.fromEntries(names.map((name) => [name, name])), now.name, (name) => {
        Object.assign(now, {name, unit: BEST})
        offer()
        picture()
      }) : null, choice)
    const adder = (bit) => button(`Add a ${bit}`, () => write(bit, Math.min(mostBits, bits.length + 1)))
    const random = (n) => button(`Random ${n}`, () => put(draw(chance, n)))
    const hint = el('p', {className: 'live-task'}, 'Press a bit of the table to turn it over. Underlined: wrong. '
      + `Dashed line: here, after ${trained} steps, the sequences of the training ended.`)
    const each = more('Every step in a table, and another unit', box, hint, place, words, chosen)
    body.append(
      el('label', {className: 'parity-field'}, el('span', {}, 'Bits'), area),
      el('div', {className: 'live-buttons parity-buttons'}, [0, 1].map(adder), [trained, long].map(random),
        button('All ones', () => put(Array(bits.length || trained).fill(1))), button('Clear', () => put([]))),
      svg, title, voiced.element, each)
    put(given ? bitsOf(given).bits : draw(RTX.random(0), long))
    new ResizeObserver(() => requestAnimationFrame(() => { if (bits.length) picture() })).observe(body)
  })
})
