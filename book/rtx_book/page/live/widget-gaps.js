// Words are hidden and a BERT names them: what it holds probable at each gap, and what comes of filling several gaps,
// all at once or one after the other.
RTX.part('widget-gaps', (RTX) => {
  const {el, button, voice, softmax, Bert} = RTX
  const GAP = '_', SHOWN = 5
  const percent = (share) => share < 0.005 ? 'below 1' : `${Math.round(100 * share)}`

  // options: text, with _ for a gap; words by id; mask and unknown, their ids; never: ids that fill no gap; frame: ids in
  // front of and behind the text, or null; heads; draws: how often a button fills the gaps; exist: texts of filled gaps
  // that are there, or null; examples {what a button says: the text it puts in}. models: one BERT.
  RTX.widget('gaps', (body, options, models) => {
    const {text, words, mask, unknown, never, frame, heads, draws = 1, exist = null, examples = {}} = options
    const ids = new Map(words.map((word, i) => [word.toLowerCase(), i])), barred = new Set(never), random = RTX.random(Date.now())
    const model = new Bert(Object.values(models)[0].weights, {heads}), told = voice()
    const front = frame ? [frame[0]] : [], end = frame ? [frame[1]] : [], most = model.length - 2 * front.length
    let typed = [], hidden = new Set(), later
    const input = el('input', {type: 'text', value: text, className: 'gaps-input', spellcheck: false, autocomplete: 'off',
      autocapitalize: 'off', maxLength: 300, oninput: () => read()})
    const strip = el('div', {className: 'gaps-strip', role: 'group', 'aria-label': 'Words: press one to hide it or show it'})
    const guesses = el('div', {className: 'gaps-guesses', tabIndex: 0, role: 'group', 'aria-label': 'Guesses for each gap'})
    const filled = el('ul', {className: 'gaps-filled', tabIndex: 0, 'aria-label': 'Texts that it filled'})
    const note = el('p', {className: 'live-task'}), gaps = () => [...hidden].sort((a, b) => a - b)
    const id = (word) => ids.get(word.toLowerCase()) ?? unknown

    // Shares of the words for the gaps that are still open, those that fill none left out
    function shares(filling, open) {
      const inside = typed.map((word, t) => filling.has(t) ? filling.get(t) : hidden.has(t) ? mask : id(word))
      const logits = model.predict([...front, ...inside, ...end], open.map((t) => t + front.length))
      return logits.map((row) => softmax(row.map((value, i) => barred.has(i) ? -Infinity : value)))
    }
    function drawn(p) {
      let left = random.uniform(), i = 0
      while (i < p.length - 1 && (left -= p[i]) >= 0) i++
      return i
    }
    // Together: all gaps from one look at the text. In turn: each sees what was put into the gaps before it.
    function fill(inTurn) {
      const filling = new Map(), open = gaps()
      if (inTurn) for (const t of open) filling.set(t, drawn(shares(filling, [t])[0]))
      else shares(filling, open).forEach((p, i) => filling.set(open[i], drawn(p)))
      return typed.map((word, t) => filling.has(t) ? el('b', {}, words[filling.get(t)]) : word)
    }
    function fillAll(inTurn) {
      clearTimeout(later)  // what was typed before is no longer news
      const way = inTurn ? 'One after the other' : 'All at once'
      const rows = Array.from({length: draws}, () => fill(inTurn))
      const there = rows.map((row) => exist?.includes(row.filter((one) => one.nodeType).map((one) => one.textContent).join(' ')))
      filled.replaceChildren(...rows.map((row, i) => el('li', {}, exist ? there[i] ? '✓ ' : '✗ ' : '',
        row.flatMap((word, t) => t ? [' ', word] : [word]))))
      const count = there.filter(Boolean).length
      told.say(exist ? `${way}: ${count} of ${draws} exist.` : `${way}: ${rows[0].map((one) => one.textContent ?? one).join(' ')}.`)
    }
    const together = button('Fill the gaps all at once', () => fillAll(false))
    const inTurn = button('Fill one after the other', () => fillAll(true))

    function show() {
      const open = gaps()
      strip.replaceChildren(...typed.map((word, t) => el('button', {type: 'button', className: 'gaps-word',
        'aria-pressed': String(hidden.has(t)),
        'aria-label': word === GAP ? 'gap' : hidden.has(t) ? `${word}, hidden` : word,
        onclick: () => toggle(t)}, hidden.has(t) ? GAP.repeat(4) : word)))
      filled.replaceChildren()
      together.disabled = inTurn.disabled = !open.length
      const strange = typed.filter((word, t) => !hidden.has(t) && id(word) === unknown)
      const lost = strange.length ? ` It does not know ${strange.join(', ')}.` : ''
      note.textContent = (open.length ? '' : 'Press a word to hide it, or type _ for a gap.') + lost
      note.hidden = !note.textContent
      const found = open.length ? shares(new Map(), open) : []
      const best = found.map((p) => [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, SHOWN))
      guesses.replaceChildren(...best.map((top, i) => el('table', {},
        el('caption', {}, (open.length > 1 ? `Gap ${i + 1}` : 'The gap')
          + (typed[open[i]] === GAP ? '' : `, which hides “${typed[open[i]]}”`)),
        el('tbody', {}, top.map((k) => el('tr', {}, el('th', {scope: 'row'}, words[k]),
          el('td', {style: `--share:${100 * found[i][k]}%`}, `${percent(found[i][k])} %`)))))))
      clearTimeout(later)
      const first = (top, i) => `Gap ${i + 1}: ${words[top[0]]}, ${percent(found[i][top[0]])} percent.`
      later = setTimeout(() => told.say(best.map(first).join(' ') || 'No gap.'), 1200)
    }
    function toggle(t) {
      if (hidden.has(t)) { if (typed[t] !== GAP) hidden.delete(t) } else hidden.add(t)
      show()
      strip.children[t].focus()
    }
    function read(others = []) {
      typed = (input.value.match(/_+|[\p{L}\p{N}]+(?:['’][\p{L}]+)?|[^\s\p{L}\p{N}_]/gu) || []).slice(0, most)
        .map((word) => word.startsWith(GAP) ? GAP : word)
      hidden = new Set([...typed.keys()].filter((t) => typed[t] === GAP || others.includes(t)))
      show()
    }
    const kept = RTX.kept('hidden', () => gaps().filter((t) => typed[t] !== GAP).join('_'), (text) => {
      const places = text.split('_').filter(Boolean)
      if (!places.every((t) => /^\d+$/.test(t) && t < typed.length)) return false
      read(places.map(Number))
    })
    body.append(
      el('label', {className: 'gaps-label'}, el('span', {}, 'Your words, _ for a gap'), input), strip, note, guesses,
      el('div', {className: 'live-buttons'}, together, inTurn, Object.entries(examples).map(([name, put]) =>
        button(name, () => { input.value = put; read() }))),
      filled, told.element, kept)
    read()
  })
})
