// A story and a question that the reader writes: a memory network answers, and shows which sentence each hop reads.
RTX.part('widget-story', (RTX) => {
  const {el, id, button, voice, softmax, MemoryNetwork} = RTX
  const percent = (share) => `${Math.round(100 * share)}\u00a0%`
  const largest = (values) => values.indexOf(Math.max(...values))

  // options: words by id; length, of a sentence; memory, sentences at most; stories [[sentences, question], ...], of
  // which the first stands there. models: one memory network.
  RTX.widget('story', (body, {words, length, memory, stories}, models) => {
    const net = new MemoryNetwork(Object.values(models)[0].weights, {vocabulary: words.length, length, memory})
    const ids = new Map(words.map((word, i) => [word.toLowerCase(), i])), told = voice('live-aside'), help = id('story')
    const tell = () => { clearTimeout(later); later = setTimeout(() => told.say(news), 900) }
    let next = 0, later, news = ''
    const story = el('textarea', {rows: Math.min(memory, 8), className: 'story-text', spellcheck: false, oninput: () => read()})
    const question = el('input', {type: 'text', className: 'story-text', spellcheck: false, autocomplete: 'off',
      oninput: () => read()})
    for (const field of [story, question]) field.setAttribute('aria-describedby', help)
    const table = el('table', {className: 'story-reads'}), said = el('p', {className: 'live-task'})
    const parts = (line) => line.replace(/[.?,]/g, ' ').split(/\s+/).filter(Boolean)
    const lines = () => story.value.split('\n').map((line) => line.trim()).filter(Boolean)

    function faultOf(sentences) {
      const all = [...sentences, parts(question.value)], strange = all.flat().find((word) => !(ids.get(word.toLowerCase()) > 0))
      return !sentences.length || !all.at(-1).length ? 'A story and a question, please.'
        : sentences.length > memory ? `It remembers ${memory} sentences, not ${sentences.length}.`
        : strange ? `It does not know “${RTX.brief(strange)}”.`
        : all.some((one) => one.length > length) ? `A sentence has at most ${length} words.` : ''
    }
    function read() {
      const typed = lines(), sentences = typed.map(parts), asked = parts(question.value), fault = faultOf(sentences)
      const odd = (one) => one.length > length || one.some((word) => !(ids.get(word.toLowerCase()) > 0))
      story.setAttribute('aria-invalid', String(!sentences.length || sentences.length > memory || sentences.some(odd)))
      question.setAttribute('aria-invalid', String(!asked.length || odd(asked)))
      said.textContent = fault ? `${fault} The last valid input is shown.` : ''
      news = said.textContent
      if (!fault) show(typed, sentences)
      tell()
    }
    function show(typed, sentences) {
      const numbers = (one) => one.map((word) => ids.get(word.toLowerCase()))
      const {hops, logits} = net.read(sentences.map(numbers), numbers(parts(question.value))), p = softmax(logits)
      const best = largest(p)
      news = `It answers “${words[best]}” (${percent(p[best])}). ` + hops.map((h, k) => {
        const i = largest(h)
        return `Hop ${k + 1} reads ${i < typed.length ? `“${typed[i]}”` : 'an empty slot'} most.`
      }).join(' ')
      said.textContent = news
      const cell = (share) => el('td', {style: `--share:${(100 * share).toFixed(1)}%`}, percent(share))
      const empty = hops.map((h) => h.slice(typed.length).reduce((a, b) => a + b, 0))
      table.replaceChildren(
        el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'sentence'), hops.map((_, k) =>
          el('th', {scope: 'col'}, `hop ${k + 1}`)), el('th', {scope: 'col'}, 'move'))),
        el('tbody', {}, typed.map((line, i) => el('tr', {}, el('th', {scope: 'row'}, line), hops.map((h) => cell(h[i])),
          el('td', {}, i ? el('button', {type: 'button', className: 'story-up', 'aria-label': `Move “${line}” up`,
            onclick: () => up(typed, i)}, '↑') : ''))),
        typed.length < memory ? el('tr', {}, el('th', {scope: 'row'}, '(empty slots)'), empty.map(cell), el('td', {})) : null))
    }
    function up(typed, i) {
      const moved = [...typed]
      moved.splice(i - 1, 2, typed[i], typed[i - 1])
      story.value = moved.join('\n')
      read()
      table.querySelectorAll('.story-up')[Math.max(0, i - 2)]?.focus()
    }
    function put() {
      const [sentences, asked] = stories[next++ % stories.length]
      story.value = sentences.join('\n')
      question.value = asked
      read()
    }
    body.append(said, el('div', {className: 'story-both'},
      el('div', {className: 'story-box', tabIndex: 0, role: 'region', 'aria-label': 'What each hop reads; scrolls'}, table),
      el('div', {className: 'story-typed'},
        el('label', {className: 'story-label'}, el('span', {}, 'The question'), question),
        el('label', {className: 'story-label'}, el('span', {}, 'The story, one sentence a line'), story),
        el('div', {className: 'live-buttons'}, button('Another story', put)))),
      el('p', {className: 'live-task story-words', id: help}, `It knows these words: ${words.slice(1).join(', ')}.`), told.element)
    put()
  })
})
