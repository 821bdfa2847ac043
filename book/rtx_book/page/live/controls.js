// What the widgets share: elements, labelled controls, one voice for screen readers.
// A control is a native one, so that keyboard and screen readers know it; its name is always to be read.
RTX.part('controls', (RTX) => {
  const SVG = 'http://www.w3.org/2000/svg'
  const DRAWN = new Set(['svg', 'g', 'path', 'text', 'line', 'rect', 'circle', 'tspan', 'polygon'])

  // An element: on... listens, what the element knows as a property is set as one, the rest are attributes.
  function el(tag, attributes = {}, ...children) {
    const drawn = DRAWN.has(tag)
    const made = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || (drawn && value === false)) continue
      if (name.startsWith('on')) made.addEventListener(name.slice(2), value)
      else if (!drawn && name in made && !['list', 'role', 'style', 'form'].includes(name)) made[name] = value
      else if (value !== false) made.setAttribute(name, value)
    }
    made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false))
    return made
  }

  let count = 0
  const id = (name) => `live-${name}-${++count}`  // never twice on a page, however many widgets it has

  // A native range over `values`, its name before it and its value after it; `say` puts a value in words.
  // `change` gets a value whenever the reader moves it; `set` moves it without telling.
  function range(name, values, start, change, say = String) {
    const out = el('output', {'aria-live': 'off'})
    // Named by itself: the label holds the value as well
    const input = el('input', {type: 'range', min: 0, max: values.length - 1, step: 1, autocomplete: 'off', 'aria-label': name})
    const place = (i) => {
      input.value = i
      out.textContent = say(values[i])
      input.setAttribute('aria-valuetext', out.textContent)
    }
    input.addEventListener('input', () => { place(+input.value); change(values[+input.value]) })
    place(start)
    return {
      label: el('label', {className: 'live-range'}, el('span', {}, name), input, out),
      input, out, set: place, get value() { return values[+input.value] },
    }
  }

  // One of several: {value: text}. `mark(value)` may put something before a text, such as a piece of its line.
  function radios(name, options, start, change, mark = () => null) {
    const group = id('radio')
    const choice = ([value, text]) => el('label', {},
      el('input', {type: 'radio', name: group, value, checked: value === String(start), autocomplete: 'off'}),
      mark(value), el('span', {}, text))
    return el('fieldset', {className: 'live-radios', onchange: (event) => change(event.target.value)},
      el('legend', {}, name), Object.entries(options).map(choice))
  }

  const check = (name, on, change) => el('label', {className: 'live-check'},
    el('input', {type: 'checkbox', checked: on, autocomplete: 'off', onchange: (event) => change(event.target.checked)}),
    el('span', {}, name))

  const select = (name, options, start, change) => el('label', {className: 'live-select'}, el('span', {}, name),
    el('select', {autocomplete: 'off', onchange: (event) => change(event.target.value)},
      Object.entries(options).map(([value, text]) => el('option', {value, selected: value === String(start)}, text))))

  const button = (text, press) => el('button', {type: 'button', className: 'live-button', onclick: press}, text)

  // What a reader needs later, folded away, so that the first look at a figure fits a screen.
  const more = (name, ...parts) => el('details', {className: 'live-more'}, el('summary', {}, name), parts)

  // What no control holds and a link should bring again (address.js), an element for somewhere in the figure: `get` says it
  // as a text, '' for nothing; `set` takes such a text, which may be anything, and says false where it is of no use.
  const kept = (name, get, set) => Object.assign(el('input', {type: 'hidden', name}), {held: {get, set}})

  // What was drawn, n whole numbers from 0 on, two signs each; get() gives null where nothing was
  const keptDrawing = (name, n, most, get, set) => kept(name,
    () => (get() ?? []).map((v) => Math.round(v).toString(36).padStart(2, '0')).join(''), (text) => {
      const drawn = (text.match(/../g) ?? []).map((two) => parseInt(two, 36))
      const fits = text.length === 2 * n && drawn.every((v) => v >= 0 && v <= most)
      if (fits) set(drawn)
      return fits || !text
    })

  // What changed, in words: to be read by all, and said aloud. With `now` false at most every six seconds, but then
  // the last word is said when the six seconds are over. 'live-aside' is for the ear alone.
  function voice(own = '') {
    const element = el('p', {className: `live-status ${own}`, role: 'status'})
    let last = -Infinity, later
    const put = (text) => {
      last = performance.now()
      clearTimeout(later)
      if (element.textContent !== text) element.textContent = text
    }
    return {
      element,
      say(text, now = true) {
        const wait = last + 6000 - performance.now()
        clearTimeout(later)
        if (now || wait <= 0) put(text)
        else later = setTimeout(put, wait, text)
      },
    }
  }

  // Tells a figure when it goes out of sight and when it comes back, and once it is no more in the page. What it returns
  // wakes the figure if it is in sight now.
  function sight(body, {wake, rest, gone}) {
    let seen = false
    const look = () => { if (seen && !document.hidden) wake() }
    const turn = () => document.hidden ? rest() : look()
    const near = new IntersectionObserver((entries) => {
      seen = entries[entries.length - 1].isIntersecting
      if (seen) { look(); return }
      rest()
      if (body.isConnected) return
      gone()
      near.disconnect()
      document.removeEventListener('visibilitychange', turn)
    })
    near.observe(body)
    document.addEventListener('visibilitychange', turn)
    return look
  }

  // A word of the reader's as it is quoted: a very long one fills no page
  const brief = (word, most = 40) => word.length > most ? `${[...word.slice(0, 2 * most)].slice(0, most).join('')}…` : word

  // Whether the reader asked for pictures that do not move.
  const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches

  Object.assign(RTX, {el, id, range, radios, check, select, button, more, kept, keptDrawing, voice, sight, brief, still})
})
