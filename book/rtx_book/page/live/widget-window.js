// "Type into a window": a LocalRNN reads letters from A to F. What stands in the window of one position, the state after
// each of its letters, and what a change of one letter does to the states of all positions.
RTX.part('widget-window', (RTX) => {
  const {el, range, button, likeliest, together} = RTX
  const LETTERS = 'ABCDEF', MOST = 24, WINDOWS = Array.from({length: 16}, (_, i) => i + 1), LATER = 600, TALL = 22
  const percent = (p) => `${Math.round(100 * p)} %`
  const short = (v) => v === 0 ? '0' : v < 0.005 ? v.toExponential(0).replace('e-', 'e−') : v.toFixed(2)

  // options: text, of letters from A to F; window, that of the training
  RTX.widget('window', (body, {text = 'FACADE', window = 5}, models) => {
    const reader = new RTX.WindowReader(models.reader.weights, {window}), voice = RTX.voice()
    const known = (typed) => [...typed.toUpperCase()].filter((c) => LETTERS.includes(c)).slice(0, MOST).map((c) => LETTERS.indexOf(c))
    let ids = known(text), at = ids.length - 1, found = [], saying = 0

    // ---- what the reader does
    const field = el('input', {
      type: 'text', value: text, autocomplete: 'off', spellcheck: false, maxLength: MOST + 8, className: 'live-window-text',
      oninput: () => use(known(field.value)),
    })
    const pick = (t) => { at = t; draw() }
    const where = el('input', {type: 'range', min: 0, max: MOST - 1, step: 1, autocomplete: 'off', 'aria-label': 'Position',
      oninput: () => pick(+where.value)})
    const spot = el('output', {'aria-live': 'off'})
    const other = button('Another letter here', () => {
      const next = [...ids]
      next[at] = (next[at] + 1) % LETTERS.length
      field.value = next.map((id) => LETTERS[id]).join('')
      use(next)
    })
    const width = range('Window M', WINDOWS, WINDOWS.indexOf(window), (value) => {
      reader.window = value
      found = []
      read()
    }, (value) => value === window ? `${value}, as in training` : String(value)).label

    // ---- what is seen
    const letters = el('tr'), truths = el('tr'), answers = el('tr'), moves = el('tr')
    const inside = el('div', {className: 'live-window-run'})
    const table = el('table', {}, el('tbody', {}, letters, truths, answers, moves))
    const box = el('div', {
      className: 'live-window-table', tabIndex: 0, role: 'region', 'aria-label': 'All positions; scrolls sideways',
    }, table)
    const head = (name) => el('th', {scope: 'row'}, name)
    // Where not all positions fit, the one that is picked is in sight, and of its window what goes with it
    function reveal() {
      const [name, ...cells] = letters.children, last = cells[at], first = cells[Math.max(0, at - reader.window + 1)]
      if (!last) return
      const left = Math.min(box.scrollLeft, first.offsetLeft - name.offsetWidth)
      box.scrollLeft = Math.max(left, last.offsetLeft + last.offsetWidth - box.clientWidth)
    }

    // A typed text: where one letter of it was replaced, the states of before are those to compare with
    function use(next) {
      const changed = next.length === ids.length ? next.findIndex((id, i) => id !== ids[i]) : -1
      if (next.length !== ids.length) at = next.length - 1
      else if (changed >= 0) at = changed
      ids = next
      read(changed)
    }
    function read(changed = -1) {
      const before = changed >= 0 ? found : []
      found = ids.map((_, t) => {
        const {states, logits} = reader.read(ids, t), h = states.at(-1), p = RTX.softmax(logits.at(-1))
        const old = before[t]?.h
        const move = old ? Math.max(...h.map((v, j) => Math.abs(v - old[j]))) : null
        return {h, p, move, answer: likeliest(p), right: together(ids, t, reader.window)}
      })
      at = Math.max(0, Math.min(at, ids.length - 1))
      draw(changed)
    }
    function strip(h) {
      const path = Array.from(h, (v, j) => `M${5 * j + 2.5} ${TALL / 2}V${(TALL / 2 * (1 - 0.92 * v)).toFixed(1)}`).join('')
      return el('svg', {viewBox: `0 0 ${5 * h.length} ${TALL}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
        el('path', {class: 'live-axis', d: `M0 ${TALL / 2}H${5 * h.length}`}), el('path', {d: path}))
    }
    function draw(changed = -1) {
      const M = reader.window, first = at - M + 1, none = !ids.length
      where.max = Math.max(0, ids.length - 1)
      where.value = at
      spot.textContent = none ? '' : `${at + 1}, the letter ${LETTERS[ids[at]]}`
      where.setAttribute('aria-valuetext', spot.textContent)
      other.disabled = none
      const mark = (t) => `${t >= first && t <= at ? 'live-in' : ''} ${t === at ? 'live-at' : ''}`
      letters.replaceChildren(head('letter'), ...ids.map((id, t) =>
        el('td', {className: mark(t), onclick: () => pick(t)}, LETTERS[id])))
      truths.replaceChildren(head('together'), ...found.map(({right}, t) => el('td', {className: mark(t)}, LETTERS[right])))
      answers.replaceChildren(head('it says'), ...found.map(({answer, right}, t) =>
        el('td', {className: mark(t)}, `${LETTERS[answer]}${answer === right ? '' : ' ✗'}`)))
      moves.replaceChildren(head('state moved'), ...found.map(({move}) => el('td', {}, move === null ? '–' : short(move))))
      reveal()
      if (none) {
        inside.replaceChildren()
        voice.say('Type letters from A to F.')
        return
      }
      const {states, logits} = reader.read(ids, at)
      inside.replaceChildren(...states.map((h, j) => {
        const t = first + j, p = RTX.softmax(logits[j]), best = likeliest(p)
        const said = `${LETTERS[best]} ${percent(p[best])}`
        return el('div', {}, el('span', {}, t < 0 ? '·' : LETTERS[ids[t]]), strip(h), el('span', {}, said))
      }))
      const wrong = found.filter(({answer, right}) => answer !== right).length, {answer, right, p} = found[at]
      const seen = ids.slice(Math.max(0, first), at + 1).map((id) => LETTERS[id]).join(', ')
      const story = `Position ${at + 1} sees ${seen}: together ${LETTERS[right]}; it says ${LETTERS[answer]} `
        + `(${percent(p[answer])}). Of ${found.length} positions it has ${found.length - wrong} right.`
      const held = found.filter((_, t) => t < changed || t >= changed + M), most = Math.max(0, ...held.map(({move}) => move))
      const last = Math.min(ids.length, changed + M)
      const effect = changed < 0 || found[changed].move === null ? ''
        : ` Letter ${changed + 1} changed: the states of positions ${changed + 1} to ${last} moved, `
          + `the ${held.length} others by ${short(most)}.`
      clearTimeout(saying)
      if (voice.element.textContent) saying = setTimeout(() => voice.say(story + effect), LATER)
      else voice.say(story)
    }

    body.append(
      el('div', {className: 'live-controls'},
        el('label', {}, el('span', {}, 'Letters A to F'), field), width,
        el('label', {className: 'live-range'}, el('span', {}, 'Position'), where, spot), other),
      box, el('p', {className: 'live-head'}, 'Inside the window: each letter (· is a zero), the state after it, and the answer so far'),
      inside, voice.element)
    read()
    new ResizeObserver(reveal).observe(box)
  })
})
