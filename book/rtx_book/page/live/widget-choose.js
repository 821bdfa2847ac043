// From probabilities to text, one character at a time: the whole distribution, what a rule cuts off it and how the rest
// is rescaled. The reader picks, draws, or lets it run.
RTX.part('widget-choose', (RTX) => {
  const {el, range, radios, button, voice, still, softmax, shown, named, percent} = RTX
  const {character, cut, fall, entropy, Written} = RTX
  const MOST = 600, RUN = 200, PAUSE = 40, GRAM = 10, WIDE = 0.035, THIN = 0.004
  const RULES = {all: 'all of it', greedy: 'greedy', k: 'top-k', p: 'top-p'}
  const TEMPERATURES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3]
  const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99]

  // options: characters, in the order of their ids; text, how it begins. models: one, an LSTM that reads characters.
  RTX.widget('choose', (body, {characters, text}, models) => {
    const names = [...characters], V = names.length, ids = new Map(names.map((c, id) => [c, id]))
    const written = new Written(character(Object.values(models)[0].weights)), random = RTX.random(Date.now()), said = voice()
    const now = {rule: 'p', temperature: 1, k: 5, p: 0.9, u: null, at: 0}
    let begun = 0, timer = 0, left = 0, found

    // --- what the reader sees
    const start = el('input', {type: 'text', value: text, className: 'choose-start', spellcheck: false, autocomplete: 'off',
      autocapitalize: 'off', maxLength: 80, oninput: () => { halt(); begin() }})
    const prompt = el('span'), made = el('b'), last = el('b', {className: 'choose-last'})
    const strip = el('p', {className: 'choose-text'}, prompt, made, last)
    const line = () => ({name: el('p', {className: 'choose-name'}), bar: el('div', {className: 'choose-line', 'aria-hidden': 'true'})})
    const before = line(), after = line(), dart = el('i', {className: 'choose-dart'})
    const tells = el('p', {className: 'live-task'})
    const list = el('ol', {className: 'choose-list', 'aria-label': 'What may come next, the most probable first', onkeydown: move},
      names.map((_, place) => el('li', {}, el('button', {type: 'button', onclick: () => pick(place)}, el('code'), el('i'), el('span')))))
    const rows = [...list.children].map((own) => own.firstChild)

    function settings() {
      const {rule, temperature, k, p} = now
      return {greedy: {top: 1}, all: {temperature}, k: {temperature, top: k}, p: {temperature, topP: p}}[rule]
    }
    // Segments side by side, each as wide as its share; the small ones that stay are one, and so are all that are cut
    function lay({bar}, share, ...more) {
      const part = (width, text, className) => el('span', {className, style: `width:${(100 * width).toFixed(3)}%`}, text)
      const kept = found.order.slice(0, found.kept), seen = kept.filter((id) => share[id] > THIN)
      const sum = (some) => some.reduce((all, id) => all + share[id], 0), stays = sum(kept)
      bar.replaceChildren(...seen.map((id) => part(share[id], share[id] > WIDE ? shown(names[id]) : '', '')),
        part(stays - sum(seen), '', ''), ...stays < 1 - 1e-9 ? [part(1 - stays, '', 'choose-cut')] : [], ...more)
      return stays
    }
    function show() {
      const plain = softmax(written.logits)
      found = cut(written.logits, settings())
      const {order, p, kept, whole} = found, share = lay(before, whole)
      lay(after, p, dart)
      dart.hidden = now.u === null
      dart.style.left = `${100 * now.u}%`
      const hot = now.rule === 'greedy' || now.temperature === 1 ? '' : `, at temperature ${now.temperature}`
      const cutOff = kept < V ? ` Hatched: cut off, ${percent(1 - share)}.` : ''
      before.name.textContent = `What the model expects${hot}: ${entropy(whole).toFixed(2)} bits.${cutOff}`
      after.name.textContent = `What is left, rescaled to 1: ${entropy(p).toFixed(2)} bits.`
      const most = Math.max(plain[order[0]], p[order[0]])
      order.forEach((id, place) => {
        const row = rows[place], [glyph, bar, numbers] = row.children, stays = place < kept
        glyph.textContent = shown(names[id])
        bar.style.setProperty('--model', `${100 * plain[id] / most}%`)
        bar.style.setProperty('--left', `${100 * p[id] / most}%`)
        numbers.textContent = `${percent(plain[id])} → ${stays ? percent(p[id]) : '0'}`
        row.className = stays ? '' : 'choose-out'
        const then = stays ? `now ${percent(p[id])}` : 'cut off'
        row.setAttribute('aria-label', `${named(names[id])}: the model ${percent(plain[id])}, ${then}`)
        row.tabIndex = place === now.at ? 0 : -1
      })
      const own = written.rows.slice(begun), letters = own.map(({id}) => names[id]), grams = new Set()
      for (let i = 0; i + GRAM <= own.length; i++) grams.add(letters.slice(i, i + GRAM).join(''))
      const count = own.length - GRAM + 1, bits = own.reduce((sum, row) => sum + row.bits, 0) / own.length
      const again = count > 0 ? ` ${percent(1 - grams.size / count)} of its strings of ${GRAM} characters were there before.` : ''
      tells.textContent = `${kept} of ${V} characters stay. ` + (own.length
        ? `Written: ${own.length}, at ${bits.toFixed(2)} bits each for the model.${again}` : 'Nothing is written yet.')
      prompt.textContent = written.rows.slice(0, begun).map(({id}) => names[id]).join('')
      made.textContent = letters.slice(0, -1).join('')
      const end = letters.at(-1) || ''
      last.textContent = end === '\n' ? '⏎\n' : end
      strip.scrollTop = strip.scrollHeight
    }
    function begin() {
      const typed = [...start.value].filter((c) => ids.has(c)).map((c) => ids.get(c))
      const first = typed.length ? typed : [ids.get('\n') ?? 0]
      written.begin(first)
      begun = first.length
      Object.assign(now, {u: null, at: 0})
      show()
    }
    function expects() {
      const p = softmax(written.logits), first = found.order.slice(0, 3)
      return `Next it expects ${first.map((id) => `${named(names[id])} ${percent(p[id])}`).join(', ')}.`
    }

    // --- one character
    function put(id, how) {
      if (written.rows.length >= MOST) { halt(); said.say('The page is full. Start again.'); return false }
      const p = softmax(written.logits)[id]
      written.add(id)
      now.at = 0
      show()
      if (!timer) said.say(`${named(names[id])} ${how}, which the model gave ${percent(p)}. ${expects()}`)
      return true
    }
    function pick(place) {
      halt()
      now.u = null
      put(found.order[place], 'picked')
      rows[0].focus()
      list.scrollTop = 0
    }
    function draw() {
      now.u = random.uniform()
      return put(fall(found, now.u), now.rule === 'greedy' ? 'taken' : 'drawn')
    }
    function move(event) {
      const {key} = event, to = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -V, End: V}[key]
      const typed = !event.ctrlKey && !event.metaKey && !event.altKey && key !== ' ' && ids.has(key)
      if (typed) pick(found.order.indexOf(ids.get(key)))
      if (to) {
        rows[now.at].tabIndex = -1
        now.at = Math.min(V - 1, Math.max(0, now.at + to))
        rows[now.at].tabIndex = 0
        rows[now.at].focus()
      }
      if (to || typed) event.preventDefault()
    }

    // --- letting it run
    function halt() {
      clearTimeout(timer)
      timer = left = 0
      run.textContent = 'Let it write'
    }
    function write() {
      if (left-- > 0 && draw()) { timer = setTimeout(write, still() ? 0 : PAUSE); return }
      halt()
      said.say(`It wrote: ${written.rows.slice(begun).slice(-RUN).map(({id}) => names[id]).join('')}`)
    }
    const run = button('Let it write', () => {
      if (timer) { halt(); said.say(tells.textContent); return }
      run.textContent = 'Stop'
      left = RUN
      timer = setTimeout(write)
    })
    const buttons = el('div', {className: 'live-buttons'},
      button('Draw one', () => { halt(); draw() }), run,
      button('Take one back', () => {
        halt()
        if (written.rows.length <= begun) return
        written.back()
        now.u = null
        show()
        said.say(`Taken back. ${expects()}`)
      }),
      button('Start again', () => { halt(); begin(); said.say(expects()) }))

    // --- the rule
    const set = (name) => (value) => { now[name] = value; now.u = null; show(); later() }
    let waiting
    const later = () => {
      clearTimeout(waiting)
      const words = () => [before.name, after.name, tells].map((e) => e.textContent).join(' ')
      waiting = setTimeout(() => { if (!timer) said.say(words()) }, 700)
    }
    const counts = Array.from({length: Math.min(V, 40)}, (_, i) => i + 1)
    const ranges = {
      temperature: range('Temperature', TEMPERATURES, TEMPERATURES.indexOf(now.temperature), set('temperature')),
      k: range('Top k', counts, counts.indexOf(Math.min(now.k, counts.length)), set('k'), (k) => k > 1 ? `${k} characters` : '1 character'),
      p: range('Top p', SHARES, SHARES.indexOf(now.p), set('p')),
    }
    const used = {all: ['temperature'], greedy: [], k: ['temperature', 'k'], p: ['temperature', 'p']}
    const fit = () => { for (const name of Object.keys(ranges)) ranges[name].label.hidden = !used[now.rule].includes(name) }
    const rule = radios('Keep', RULES, now.rule, (value) => { fit(now.rule = value); set('rule')(value) })
    body.append(el('label', {className: 'choose-field'}, el('span', {}, 'It begins with'), start), rule,
      el('div', {className: 'live-controls'}, Object.values(ranges).map(({label}) => label)),
      strip, buttons, before.name, before.bar, after.name, after.bar, tells,
      el('p', {className: 'choose-name'}, 'Grey: the model’s probability. Blue: what is left of it. Press a character to pick it.'),
      list, said.element)
    fit()
    begin()
  })
})
