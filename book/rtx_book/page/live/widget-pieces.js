// A text as pieces: what is typed, in bytes and in pieces, and the merges that made them, one at a time.
RTX.part('widget-pieces', (RTX) => {
  const {el, radios, button, voice, Pieces} = RTX
  const MOST = 300, PAUSE = 900, SHOWN = {' ': '␣', '\n': '⏎', '\t': '⇥'}
  const visible = (text) => text.replace(/[ \n\t]/g, (c) => SHOWN[c])
  const counted = (n, one) => `${n.toLocaleString('en')} ${one}${n === 1 ? '' : 's'}`

  // options: text, what stands there at first; presets, texts by what their buttons say; sets, by name what Pieces takes
  RTX.widget('pieces', (body, {text, presets, sets}) => {
    const names = Object.keys(sets), made = {}, said = voice('live-aside')
    const use = (name) => made[name] ||= new Pieces(sets[name])
    let chosen = names[0], pieces = use(chosen), words = [], used = [], pausing = 0

    const area = el('textarea', {rows: 2, value: text, spellcheck: false, autocomplete: 'off', autocapitalize: 'off',
      maxLength: MOST, oninput: () => follow()})
    const strip = el('div', {className: 'pieces-strip', tabIndex: 0, role: 'region', 'aria-label': 'The pieces; scrolls'})
    const tells = el('p', {className: 'live-task'}), sums = el('p', {className: 'live-task pieces-sums'})
    const place = el('input', {type: 'range', min: 0, max: 0, step: 1, autocomplete: 'off', oninput: () => show()})
    const step = (by) => ({target}) => {
      place.value = +place.value + by
      show()
      if (target.disabled) place.focus()
    }

    // A piece's bytes, and as a text; bytes that are no whole characters are written in hexadecimal.
    function read(id) {
      const piece = pieces.vocabulary[id]
      if (pieces.end) return {text: piece, bytes: new TextEncoder().encode(piece.replace(pieces.end, ''))}
      const bytes = Uint8Array.from(piece, (c) => c.charCodeAt(0))
      try { return {text: new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes), bytes} }
      catch { return {text: null, bytes} }
    }
    const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).toUpperCase().padStart(2, '0')).join(' ')
    const written = (id) => { const {text, bytes} = read(id); return text === null ? hex(bytes) : visible(text) }

    function box(id, last) {
      const {text, bytes} = read(id), lost = pieces.end && !id
      const name = lost ? 'unknown' : text === null ? '…' : visible(text)
      return el('span', {className: [id === last && 'pieces-new', (lost || text === null) && 'pieces-part'].filter(Boolean).join(' ')},
        el('b', {}, name), el('i', {}, lost ? 'id 0' : hex(bytes)))
    }
    const cut = (parent, count) => { while (parent.children.length > count) parent.lastChild.remove() }
    // A box that shows the same piece stays: a key costs what it changes.
    function draw(now, last) {
      cut(strip, now.length)
      now.forEach((ids, i) => {
        const word = strip.children[i] || strip.appendChild(el('div'))
        cut(word, ids.length)
        ids.forEach((id, k) => {
          const key = `${chosen} ${id} ${id === last}`, old = word.children[k]
          if (old?.dataset.key === key) return
          const made = box(id, last)
          made.dataset.key = key
          if (old) old.replaceWith(made)
          else word.append(made)
        })
      })
    }
    function show() {
      const k = +place.value, rank = k ? used[k - 1] : -1, merge = pieces.merges[rank]
      const now = words.map((word) => pieces.history(word).findLast((one) => one.rank <= rank).ids)
      draw(now, merge?.id)
      const total = now.reduce((sum, ids) => sum + ids.length, 0)
      tells.textContent = `${counted(total, 'piece')} ` + (merge
        ? `after merge ${k} of ${used.length}: ${written(merge.a)} + ${written(merge.b)} → ${written(merge.id)}, ` +
          `learned as number ${(rank + 1).toLocaleString('en')} of ${pieces.merges.length.toLocaleString('en')}.`
        : `${used.length ? `before the first of ${counted(used.length, 'merge')}` : 'as no merge fits'}: ` +
          `${pieces.end ? 'characters' : 'bytes'}.`)
      place.setAttribute('aria-valuetext', tells.textContent)
      back.disabled = !k
      on.disabled = k === used.length
    }
    // All sets, so that a change of the text shows in each
    function compare() {
      const {length} = new TextEncoder().encode(area.value)
      const each = names.map((name) => {
        const ids = use(name).encode(area.value), lost = made[name].end ? ids.filter((id) => !id).length : 0
        return `${name} ${ids.length}${lost ? ` (${lost} unknown)` : ''}`
      })
      sums.textContent = `${counted([...area.value].length, 'character')}, ${counted(length, 'byte')}. Pieces: ${each.join(', ')}.`
    }
    function follow() {
      clearTimeout(pausing)
      words = pieces.words(area.value)
      used = [...new Set(words.flatMap((word) => pieces.history(word).slice(1).map(({rank}) => rank)))].sort((a, b) => a - b)
      place.max = used.length
      place.value = used.length
      show()
      compare()
      pausing = setTimeout(() => said.say(`In pieces: ${words.flatMap((word) =>
        pieces.history(word).at(-1).ids.map((id) => pieces.end && !id ? 'unknown' : written(id))).slice(0, 60).join(', ')}`), PAUSE)
    }
    const put = (typed) => { area.value = typed; follow() }
    const back = button('One merge back', step(-1)), on = button('One merge on', step(1))
    body.append(
      el('div', {className: 'live-controls'}, radios('Merges of', Object.fromEntries(names.map((name) => [name, name])), names[0],
        (name) => { chosen = name; pieces = use(name); follow() })),
      el('label', {className: 'pieces-field'}, el('span', {}, 'Your text'), area),
      el('div', {className: 'live-buttons'}, Object.entries(presets).map(([name, typed]) => button(name, () => put(typed)))),
      strip, el('label', {className: 'live-range pieces-place'}, el('span', {}, 'Merges'), place),
      el('div', {className: 'live-buttons'}, back, on), tells, sums, said.element)
    follow()
  })
})
