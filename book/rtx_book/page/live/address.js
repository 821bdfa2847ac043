// What a reader has set stands in the page's address, behind its #: a link, Back and a reload bring it again.
//
//     race.html#train=length-t.4~gru.0&fool=bits.110101
//
// A figure is named by its kind, the second one of a kind with -2 behind it; a control by its label; and only what
// differs from the start is named. It is done here for all figures, since all controls are native ones; what no control
// holds, a widget hands over by `kept` (controls.js). What is behind the # is sent to no server. An address that fits
// nothing does nothing: an anchor of the page, what a mail program left of a link, a link to an older edition.
RTX.part('address', (RTX) => {
  const {el} = RTX
  const MOST = 1200, PAUSE = 300  // characters of a figure's state; milliseconds from a change to the address
  const LEFT_OUT = 'Part of this link does not fit this figure and was left out.'
  const figures = new Map()  // by key, those that stand: {body, start}

  const word = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
  const packed = (text) => encodeURIComponent(text).replace(/[.~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  const unpacked = (text) => { try { return decodeURIComponent(text) } catch { return null } }

  // [key, state] of each figure that the address names, in its order: the one that was touched last is the last
  function named(hash = location.hash) {
    const parts = hash.slice(1).split('&').map((part) => part.split('='))
    return parts.filter((part) => part.length === 2 && /^[\w-]+$/.test(part[0]))
  }
  function keyOf(figure) {
    const kind = figure.dataset.live
    const place = [...document.querySelectorAll(`figure[data-live="${kind}"]`)].indexOf(figure)
    return place ? `${kind}-${place + 1}` : kind
  }

  // ---- a figure's controls by name
  function labelOf(input) {
    const group = input.type === 'radio' && input.closest('fieldset')
    if (input.held) return input.name
    const label = group ? group.querySelector('legend') : input.closest('label')?.querySelector('span')
    return input.getAttribute('aria-label') || label?.textContent || input.type
  }
  function controls(body) {
    const found = new Map(), groups = new Set()
    for (const input of body.querySelectorAll('input, select, textarea')) {
      if (input.closest('[data-unkept]') || (input.type === 'radio' && groups.has(input.name))) continue
      if (input.type === 'radio') groups.add(input.name)
      const name = word(labelOf(input))
      let place = 1
      while (found.has(place > 1 ? `${name}-${place}` : name)) place++
      found.set(place > 1 ? `${name}-${place}` : name, input)
    }
    return found
  }
  const group = (input) => [...input.closest('fieldset').querySelectorAll(`input[name="${input.name}"]`)]
  function valueOf(input) {
    if (input.held) return input.held.get()
    if (input.type === 'checkbox') return input.checked ? '1' : '0'
    return input.type === 'radio' ? group(input).find((one) => one.checked)?.value ?? '' : input.value
  }
  const values = (body) => new Map([...controls(body)].map(([name, input]) => [name, valueOf(input)]))

  // Moves a control as the reader's hand would; false where it cannot hold the value
  function move(input, value) {
    const tell = (one, ...kinds) => kinds.forEach((kind) => one.dispatchEvent(new Event(kind, {bubbles: true})))
    if (input.held) return input.held.set(value) !== false
    if (input.type === 'checkbox' || input.type === 'radio') {
      const one = input.type === 'radio' ? group(input).find((other) => other.value === value) : input
      if (!one || (one === input && input.type === 'checkbox' && !/^[01]$/.test(value))) return false
      one.checked = one.type === 'radio' || value === '1'
      tell(one, 'input', 'change')
      return true
    }
    const before = input.value
    input.value = value  // a range moves what is out of reach to its end, and a list takes nothing that it has not
    if (input.value === value) tell(input, 'input', 'change')
    else input.value = before
    return input.value === value
  }

  // ---- from a figure to the address, and back
  // What differs from the start, or all; where that is too long, the longest is left out
  function stateOf({body, start}, all = false) {
    const changed = [...values(body)].filter(([name, value]) => all || value !== (start.get(name) ?? value))
    const parts = changed.map(([name, value]) => `${name}.${packed(value)}`)
    while (parts.join('~').length > MOST)
      parts.splice(parts.indexOf(parts.reduce((longest, one) => one.length > longest.length ? one : longest)), 1)
    return parts.join('~')
  }
  function put(hash) {
    try {
      history.replaceState(history.state, '', hash ? `#${hash}` : `${location.pathname}${location.search}`)
    } catch { /* where a page may not: in some frames, and too often in a row */ }
  }
  function save(key) {
    const others = named().filter(([other]) => other !== key), state = stateOf(figures.get(key))
    if (!state && others.length === named().length) return  // an anchor stays
    put([...others, ...state ? [[key, state]] : []].map((part) => part.join('=')).join('&'))
  }
  function take({body, start}, state) {
    let whole = state.length <= MOST
    const parts = whole && state ? state.split('~').map((part) => part.split('.')) : []
    body.querySelector('.live-left-out')?.remove()
    for (const [name, value] of start) {  // what the link does not name goes back to where it began
      const input = parts.some(([other]) => other === name) ? null : controls(body).get(name)
      if (input && valueOf(input) !== value) move(input, value)
    }
    for (const [name, text] of parts) {
      const input = controls(body).get(name), value = unpacked(text ?? '')
      try {
        whole = Boolean(input) && value !== null && (valueOf(input) === value || move(input, value)) && whole
      } catch { whole = false }
    }
    if (!whole) body.prepend(el('p', {className: 'live-task live-left-out'}, LEFT_OUT))
  }

  // Called once a figure stands
  function keep(figure, body) {
    const key = keyOf(figure), own = {body, start: values(body)}, given = new Map(named()).get(key)
    let timer = 0
    figures.set(key, own)
    const changed = (event) => {
      if (!event.isTrusted) return
      if (event.type !== 'click') body.querySelector('.live-left-out')?.remove()
      clearTimeout(timer)
      timer = setTimeout(save, PAUSE, key)
    }
    for (const kind of ['input', 'change', 'click', 'keyup', 'pointerup']) body.addEventListener(kind, changed)
    if (given !== undefined) take(own, given)
  }
  addEventListener('hashchange', () => {
    for (const [key, state] of named()) if (figures.has(key) && state !== stateOf(figures.get(key))) take(figures.get(key), state)
  })
  // A link to a figure as it stands now; null where there is no page to link to
  function link(body) {
    const [key, own] = [...figures].find(([, one]) => one.body === body) ?? []
    return own ? `${location.href.split('#')[0]}#${key}=${stateOf(own, true)}` : null
  }
  RTX.address = {keep, link}
})
