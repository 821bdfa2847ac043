// A sentence of the reader's under several looks at once: how each shares its weight among the words, and the verdict.
RTX.part('widget-looks', (RTX) => {
  const {el, radios, button, voice, softmax, Looks, alike} = RTX
  const SHOWN = 0.1  // least weight that is written in figures
  const percent = (share) => `${Math.round(100 * share)}\u00a0%`
  const largest = (values) => values.indexOf(Math.max(...values))

  // options: words by id, those below `first` of no use here; verdicts, by class; examples {what a button says: the
  // sentence}, of which the first stands there. models: classifiers that look several times.
  RTX.widget('looks', (body, {words, first, verdicts, examples}, models) => {
    const made = Object.fromEntries(Object.entries(models).map(([name, {weights}]) => [name, new Looks(weights)]))
    const known = words.slice(first), ids = new Map(known.map((word, i) => [word, first + i])), told = voice('live-aside')
    let [chosen] = Object.keys(made), read = [], later
    const input = el('input', {type: 'text', value: Object.values(examples)[0], className: 'looks-input', maxLength: 200,
      spellcheck: false, autocomplete: 'off', autocapitalize: 'off', oninput: () => follow()})
    const says = el('p', {className: 'live-task'}), rows = el('ol', {className: 'looks-rows'})
    const put = (text) => { input.value = text; follow() }

    function follow() {
      const typed = input.value.toLowerCase().match(/[^\s.,!?]+/g) || [], strange = typed.find((word) => !ids.has(word))
      const fault = strange ? `It does not know “${RTX.brief(strange)}”.` : typed.length ? '' : 'A sentence, please.'
      if (!fault) read = typed
      input.setAttribute('aria-invalid', String(Boolean(fault)))
      const {A, logits} = made[chosen].read(read.map((word) => ids.get(word))), p = softmax(logits), best = largest(p)
      says.textContent = (fault && `${fault} The last valid input is shown. `)
        + `Verdict: ${verdicts[best]} (${percent(p[best])}). Mean cosine of two looks: ${alike(A).toFixed(2)}.`
      rows.replaceChildren(...A.map((a, r) => el('li', {}, el('span', {className: 'looks-name'}, `look ${r + 1}`),
        read.map((word, t) => el('span', {className: 'looks-word', style: `--share:${(100 * a[t]).toFixed(1)}%`}, word,
          el('small', {}, a[t] < SHOWN ? '' : percent(a[t])))))))
      const most = A.map((a, r) => `Look ${r + 1} is mostly at “${read[largest(a)]}”.`)
      clearTimeout(later)
      later = setTimeout(() => told.say(`${says.textContent} ${most.join(' ')}`), 1200)
    }
    body.append(
      radios('Trained', Object.fromEntries(Object.keys(made).map((name) => [name, name])), chosen,
        (name) => { chosen = name; follow() }),
      el('label', {className: 'looks-label'}, el('span', {}, 'Your sentence'), input),
      el('div', {className: 'live-buttons'}, Object.entries(examples).map(([name, text]) => button(name, () => put(text)))),
      says, rows, told.element, el('details', {}, el('summary', {}, `The ${known.length} words it knows`), known.join(', ')))
    follow()
  })
})
