// Number words in, digits out: what a translator writes while the reader types, how sure it is, and where it looked.
RTX.part('widget-words', (RTX) => {
  const {el, radios, button, voice, Translator, sayNumber, numberWords, numbersIn} = RTX
  const LOST = 200  // words that are read at most
  const percent = (share) => Math.round(100 * share)

  // options: text; vocabulary {source, target}; trained: most numbers in a sentence of the training; unseen: words that
  // the training never had; examples {what a button says: the text it puts in}. models: {name: a Seq2Seq}.
  RTX.widget('words', (body, {text, vocabulary, trained, unseen, examples = {}}, models) => {
    const {source, target} = vocabulary, ids = new Map(source.map((word, i) => [word, i]).slice(1))
    const made = Object.fromEntries(Object.entries(models).map(([name, {weights}]) => [name, new Translator(weights)]))
    const [first] = Object.keys(made), draw = RTX.random(Date.now()), told = voice('live-aside')
    let chosen = first, later
    const symbol = (id) => target[id].replace('<end>', 'end').replace('<start>', 'start').replace('<pad>', 'nothing')
    const input = el('textarea', {value: text, rows: 2, className: 'words-input', spellcheck: false, autocomplete: 'off',
      autocapitalize: 'off', maxLength: 1500, oninput: () => follow()})
    const written = el('p', {className: 'words-written'}), says = el('p', {className: 'live-task'})
    const map = el('div', {className: 'words-map', tabIndex: 0, role: 'region',
      'aria-label': 'Where each symbol looked, in percent; scrolls sideways'})
    const put = (typed) => {
      input.value = typed
      follow()
    }
    const fill = (count) => put(Array.from({length: count}, () => sayNumber(draw.below(1000))).join(', '))

    // The symbols in a row; under each how sure the model was, and a line under what it was least sure of.
    function show(out) {
      const least = out.reduce((a, b) => b.p < a.p ? b : a)
      written.replaceChildren(...out.filter(({symbol: id}) => target[id] !== '<end>').map((one) =>
        el('span', {className: one === least || one.p < 0.8 ? 'words-unsure' : ''},
          el('b', {}, symbol(one.symbol)), el('i', {}, `${percent(one.p)}`))))
    }
    function table(out, known) {
      const head = el('tr', {}, el('th', {scope: 'col'}, 'wrote'), el('th', {scope: 'col'}, 'sure'),
        known.map((word) => el('th', {scope: 'col'}, el('span', {}, word === ',' ? 'comma' : word))))
      map.replaceChildren(el('table', {}, el('thead', {}, head), el('tbody', {}, out.map(({symbol: id, p, a}) =>
        el('tr', {}, el('th', {scope: 'row'}, symbol(id) === ',' ? 'comma' : symbol(id)), el('td', {}, `${percent(p)}`),
          [...a].map((share) => el('td', {style: `--share:${percent(share)}%`, className: 'words-cell'},
            share >= 0.1 ? `${percent(share)}` : '')))))))
    }
    // What it should have written, if the words say numbers
    function judged(known, out) {
      const right = numbersIn(known)
      const got = out.filter(({symbol: id}) => target[id] !== '<end>').map(({symbol: id}) => symbol(id)).join('')
      if (!right) return `It wrote ${got}. These words are no numbers below 1,000 with commas between them.`
      const more = right.length > trained ? ` ${right.length} numbers are more than it ever saw (${trained}).` : ''
      if (got === right.join(',')) return `It wrote ${got}: right.${more}`
      return `It wrote ${got}, wrong: ${right.join(',')} was asked for.${more}`
    }
    function follow() {
      clearTimeout(later)
      const typed = numberWords(input.value), known = typed.filter((word) => ids.has(word)).slice(0, LOST)
      const strange = [...new Set(typed.filter((word) => !ids.has(word)))].slice(0, 12).map((word) => RTX.brief(word))
      const rare = [...new Set(known.filter((word) => unseen.includes(word)))]
      if (!known.length) {
        written.replaceChildren()
        map.hidden = true
        const lost = strange.length ? `It knows no such word: ${strange.join(', ')}. ` : ''
        says.textContent = lost +
          'Type number words, from zero to nine hundred ninety nine, with commas between numbers.'
        later = setTimeout(() => told.say(says.textContent), 1200)
        return
      }
      const out = made[chosen].write(known.map((word) => ids.get(word)), {start: target.indexOf('<start>'),
        end: target.indexOf('<end>')})
      show(out)
      map.hidden = !out[0].a
      if (out[0].a) table(out, known)
      const notes = [judged(known, out)]
      if (strange.length) notes.push(`Left out, as it knows no such word: ${strange.join(', ')}.`)
      if (rare.length) notes.push(`It knows ${rare.join(', ')} by name only: no sentence of its training had it.`)
      if (!out[0].a) notes.push('This model looks at nothing while it writes: all that it has is one vector.')
      says.textContent = notes.join(' ')
      const looks = out[0].a ? out.map(({symbol: id, a}) => `${symbol(id)} looked at ${known[a.indexOf(Math.max(...a))]}`) : []
      later = setTimeout(() => told.say([notes[0], looks.join('; ')].filter(Boolean).join(' ')), 1200)
    }
    body.append(
      el('div', {className: 'live-controls'}, radios('Model', Object.fromEntries(Object.keys(made).map((m) => [m, m])), first,
        (name) => { chosen = name; follow() })),
      el('label', {className: 'words-label'}, el('span', {}, 'Number words'), input),
      written, says, map,
      el('div', {className: 'live-buttons'}, button('Three others', () => fill(3)),
        button(`${trained + 2} numbers, more than it ever saw`, () => fill(trained + 2)),
        Object.entries(examples).map(([name, typed]) => button(name, () => put(typed)))), told.element)
    follow()
  })
})
