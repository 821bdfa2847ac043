// Shannon's game: the reader guesses a hidden text letter by letter, and so does the model; the numbers of guesses say
// how many bits a letter is worth to either.
RTX.part('widget-guess', (RTX) => {
  const {el, button, voice, softmax, shown, named, character, Written} = RTX
  const {shannonBounds, fold, Symbols, rank} = RTX
  const many = (n, what) => `${n} ${what}${n === 1 ? '' : what.endsWith('s') ? 'es' : 's'}`

  // options: characters, in the order of their ids; passages, texts that the model has not seen; given, how many
  // characters of each are shown. models: one, an LSTM that reads characters. Nothing is kept when the page is left.
  RTX.widget('guess', (body, {characters, passages, given}, models) => {
    const ids = new Map([...characters].map((c, id) => [c, id])), symbols = new Symbols(characters), said = voice()
    const model = new Written(character(Object.values(models)[0].weights)), K = symbols.names.length
    const counts = {you: new Array(K).fill(0), model: new Array(K).fill(0)}, totals = {letters: 0, bits: 0}
    const tried = new Set()
    let passage = 0, text, at, p

    // --- what the reader sees
    const open = el('span'), gap = el('b', {className: 'guess-gap'}, '?'), rest = el('span', {className: 'guess-rest'})
    const field = el('input', {type: 'text', className: 'guess-field', autocomplete: 'off', autocapitalize: 'off', spellcheck: false,
      oninput: () => { const typed = [...field.value].at(-1); field.value = ''; if (typed) guess(fold(typed)) },
      onkeydown: (event) => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); guess('\n') } }})
    const tells = el('p', {className: 'live-task'}), wrong = el('p', {className: 'guess-wrong'})
    const found = el('ol', {className: 'guess-found', 'aria-label': 'Letters found, each with two numbers: you, the model'})
    const table = el('table', {className: 'guess-table'})
    const help = button('Let the model guess on', () => {
      hit(tried.size + rank(p.map((own, k) => tried.has(k) ? -1 : own), now()), true)
      field.focus()
    })
    const next = button('Another passage', () => { passage++; begin(); field.focus() })
    const now = () => symbols.of[ids.get(text[at])]
    const nameOf = (k) => named(symbols.names[k])

    function begin() {
      text = [...passages[passage]].filter((c) => ids.has(c))
      at = Math.min(given, text.length - 1)
      model.begin(text.slice(0, at).map((c) => ids.get(c)))
      found.replaceChildren()
      expect()
      show()
      said.say(`A new passage begins “${text.slice(0, at).join('')}”. Guess what comes next.`)
    }
    function expect() {
      tried.clear()
      p = symbols.merge(softmax(model.logits))
    }
    function show() {
      const over = at >= text.length
      open.textContent = text.slice(0, at).join('')
      gap.hidden = field.readOnly = help.disabled = over  // the field keeps the focus
      rest.textContent = '·'.repeat(Math.max(0, text.length - at - 1))
      next.disabled = passage + 1 >= passages.length
      tells.textContent = over ? 'The passage is done.' : `${many(text.length - at, 'character')} to go. This is guess ${tried.size + 1}.`
      wrong.replaceChildren(...tried.size ? ['Not', ...[...tried].flatMap((k) => [' ', el('s', {}, shown(symbols.names[k]))])] : [' '])
      tally()
    }
    function tally() {
      const {letters, bits} = totals
      table.hidden = !letters
      if (!letters) return
      const mean = (own) => own.reduce((sum, count, k) => sum + count * (k + 1), 0) / letters
      const column = (own, paid) => ({...shannonBounds(own), mean: mean(own), once: own[0] / letters, paid})
      const columns = [column(counts.you), column(counts.model, bits / letters)]
      const line = (name, write) => el('tr', {}, el('th', {scope: 'row'}, name), columns.map((own) => el('td', {}, write(own))))
      table.replaceChildren(
        el('caption', {}, `${many(letters, 'character')} so far, ${K} to choose from; capitals count as small letters`),
        el('thead', {}, el('tr', {}, ['', 'you', 'the model'].map((name) => el(name ? 'th' : 'td', name ? {scope: 'col'} : {}, name)))),
        el('tbody', {},
          line('right at once', ({once}) => `${Math.round(100 * once)} %`),
          line('guesses a character', (own) => own.mean.toFixed(1)),
          line('bits per character, at least', ({lower}) => lower.toFixed(2)),
          line('bits per character, at most', ({upper}) => upper.toFixed(2)),
          line('bits it paid (cross-entropy)', ({paid}) => paid?.toFixed(2) ?? '–')))
    }

    // --- guessing
    function guess(c) {
      const k = symbols.names.indexOf(c)
      if (at >= text.length) return
      if (k < 0) { said.say(`${named(c)} never comes in this text: not counted.`); return }
      if (tried.has(k)) { said.say(`${named(c)} was tried already: not counted.`); return }
      if (k === now()) { hit(tried.size + 1); return }
      tried.add(k)
      show()
      said.say(`Not ${named(c)}.`)
    }
    function hit(guesses, helped = false) {
      const k = now(), place = rank(p, k), bits = -Math.log2(p[k]), first = p.indexOf(Math.max(...p))
      counts.you[guesses - 1]++
      counts.model[place - 1]++
      totals.letters++
      totals.bits += bits
      found.append(el('li', {}, el('b', {}, shown(text[at])), el('span', {}, String(guesses)), el('span', {}, String(place))))
      model.add(ids.get(text[at++]))
      expect()
      show()
      const own = place === 1 ? 'at once' : `in ${many(place, 'guess')}; its first was ${nameOf(first)}`
      const ends = at < text.length ? '' : ` ${summary()}`
      const yours = `${nameOf(k)} in ${many(guesses, 'guess')}${helped ? ', with the model' : ''}`
      said.say(`${yours}. The model had it ${own}, and paid ${bits.toFixed(1)} bits.${ends}`)
    }
    function summary() {
      const {lower, upper} = shannonBounds(counts.you)
      const yours = `${lower.toFixed(2)} to ${upper.toFixed(2)} bits`, paid = (totals.bits / totals.letters).toFixed(2)
      return `By your guesses a character is worth ${yours}; the model paid ${paid}.`
    }
    body.append(
      el('p', {className: 'guess-text'}, open, gap, rest),
      el('div', {className: 'live-buttons'},
        el('label', {className: 'guess-label'}, el('span', {}, 'Your guess'), field), help, next),
      tells, wrong, found, table, said.element)
    begin()
  })
})
