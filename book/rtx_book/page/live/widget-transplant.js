// Transplant a memory: what readers of letters hold after a letter of text 1 is dropped in front of a letter of
// text 2, and text 2 is read on with it. What they then expect and write; single parts of the memory can be cut out.
RTX.part('widget-transplant', (RTX) => {
  const {el, id, button, more, kept, voice, softmax, Writer} = RTX
  const MOST = 72, WRITES = 17, PAUSE = 700, TOP = 3, WIDE = 240, CARD = 20, UNITS = 24  // UNITS, cards: of a row
  const percent = (p) => p > 0.995 ? '>\u00a099\u00a0%' : `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)}\u00a0%`
  const shown = (c) => c === ' ' ? '\u00a0' : c, named = (c) => c === ' ' ? 'space' : `“${c}”`
  const clip = (v, least, most) => Math.max(least, Math.min(most, v))

  // options: signs, by their ids; texts, pairs of which the first stands there; taken, how many letters of text 1 the
  // memory has read; dropped, in front of which letter of text 2, from 0, it is put; cue, a sign that asks for the letters
  // before it, where a model does not just write on; reads: {name: what RTX.BitReader is told of a model}; layer: whose looks
  // at the cards are shown, the mean of its heads
  RTX.widget('transplant', (body, {signs, texts, taken, dropped, cue, reads = {}, layer = -1}, models) => {
    const ids = new Map([...signs].map((c, i) => [c, i])), now = {taken, dropped, put: true, pair: 0}
    const said = voice('live-aside'), note = el('p', {className: 'live-task'}), help = id('transplant')
    const both = ['', ''], left = [new Set(), new Set()]  // the letters of each text, and what was left out of it
    const all = Object.keys(models).length > 1 ? 'the models' : `the ${Object.keys(models)[0]}`
    let saying = 0

    // ---- reading
    const lettersOf = (text) => text.match(/\p{L}/gu)?.length ?? 0
    function asked(text) {  // how many letters are still to be written
      const [word, ...after] = text.split(cue)
      return !cue ? WRITES : after.length ? Math.max(0, lettersOf(word) - lettersOf(after.join(''))) : 0
    }
    const readers = Object.entries(models).map(([name, {weights}]) =>
      ({name, writer: new Writer(weights, signs, reads[name]), off: new Set(), at: 0}))
    function run(one) {
      const {writer, off} = one, [first, second] = both.map((text, which) => writer.read(which, text))
      const step = now.put ? first[now.taken] : second[now.dropped]
      one.before = now.put ? both[0].slice(0, now.taken) : both[1].slice(0, now.dropped)
      one.after = both[1].slice(now.dropped)
      one.parts = writer.parts(step)
      one.at = clip(one.at, 0, Math.max(0, one.parts.length - 1))
      one.end = [...one.after].reduce((last, c) => writer.next(last, c), writer.cut(step, off))
      one.p = one.after && softmax(one.end.logits)
      if (one.own !== both[1]) one.alone = writer.write(second.at(-1), asked(both[1]))
      one.own = both[1]
      one.written = writer.write(one.end, asked(one.before + one.after))
    }

    // ---- the texts: a press takes or drops, and a drag from the first to the second does both
    const ghost = el('span', {className: 'transplant-ghost', hidden: true}, 'memory')
    const spot = (event, box) => document.elementFromPoint(event.clientX, event.clientY)?.closest(`#${box.id} [data-place]`)
    const boxes = ['Text 1: take the memory after', 'Text 2: drop it in front of'].map((name, which) => el('div', {
      className: `transplant-text transplant-text-${which + 1}`, id: id('text'), role: 'slider', tabIndex: 0, 'aria-label': name,
      'aria-describedby': help, 'aria-valuemin': 0,
      onkeydown: (event) => key(event, which),
      onpointerdown: (event) => {
        const letter = spot(event, boxes[which])
        if (event.button || !letter) return
        go(which, +letter.dataset.place + 1 - which)
        if (!which) boxes[0].setPointerCapture(event.pointerId)
      },
      onpointermove: (event) => {
        if (!boxes[0].hasPointerCapture(event.pointerId)) return
        ghost.hidden = false
        ghost.style.translate = `${event.clientX + 8}px ${event.clientY + 8}px`
        boxes[1].classList.toggle('transplant-over', Boolean(spot(event, boxes[1])))
      },
      onpointerup: (event) => { if (!ghost.hidden) drop(spot(event, boxes[1])) },
      onpointercancel: () => drop(null),
    }))
    function drop(letter) {
      ghost.hidden = true
      boxes[1].classList.remove('transplant-over')
      if (letter) go(1, +letter.dataset.place)
    }
    function go(which, to) {
      if (which) now.dropped = clip(to, 0, Math.max(0, both[1].length - 1))
      else { now.taken = clip(to, 0, both[0].length); mend() }
      now.put = true
      show()
    }
    function key(event, which) {
      const at = which ? now.dropped : now.taken
      const to = {ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: MOST}[event.key]
      if (to !== undefined) go(which, to)
      else if (event.key === 'Enter' && !which) boxes[1].focus()  // it is in the hand
      else if (event.key === 'Enter') swap()
      else return
      event.preventDefault()
    }
    function letters(which) {
      const [from, to] = which ? [now.put ? now.dropped : 0, MOST] : [0, now.taken], at = which ? now.dropped : now.taken - 1
      boxes[which].replaceChildren(...[...both[which]].map((c, i) => el('span', {'data-place': i, className:
        `${i >= from && i < to ? 'transplant-in' : 'transplant-out'}${i === at ? ' transplant-at' : ''}`}, shown(c))))
      const c = both[which][at], told = c === undefined ? 'nothing' : `letter ${at + 1} of ${both[which].length}, ${named(c)}`
      const said = {valuemax: both[which].length, valuenow: which ? at : at + 1, valuetext: told}
      for (const [name, value] of Object.entries(said)) boxes[which].setAttribute(`aria-${name}`, value)
    }

    // ---- a model: its memory, what it expects and what it writes
    const cards = readers.map((one) => {
      const svg = el('svg', {class: 'transplant-memory', role: 'slider', tabindex: 0, 'aria-valuemin': 1, 'aria-describedby': help,
        'aria-label': `Memory of ${one.name}: choose a part, Enter cuts it`,
        onclick: ({target}) => { if (target.dataset.part) { one.at = +target.dataset.part; toggle(one) } },
        onkeydown: (event) => {
          const by = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key]
          if (by) { one.at = clip(one.at + by, 0, Math.max(0, one.parts.length - 1)); paint(one) }
          else if (event.key === 'Enter' || event.key === ' ') toggle(one)
          else return
          event.preventDefault()
        }})
      const size = el('span', {className: 'transplant-size'}), words = el('p', {className: 'transplant-words'})
      const bars = el('ol', {className: 'transplant-bars', 'aria-label': 'Next letter'})
      Object.assign(one, {svg, size, bars, words})
      return el('section', {className: `transplant-model live-${one.name.toLowerCase()}`, 'aria-label': one.name},
        el('h4', {}, one.name, size), words, bars, svg)
    })
    function toggle(one) {
      if (!one.parts[one.at]) return
      if (!one.off.delete(one.at)) one.off.add(one.at)
      show()
    }
    // Where part i lies in the picture: [x, y, width, height]
    function place({writer: {kind, layers}, parts}, i) {
      const each = parts.length / layers, wide = (WIDE - 12 * (layers - 1)) / layers, row = WIDE / CARD
      const most = Math.min(each, UNITS), line = Math.floor(i / each) * Math.ceil(each / most) + Math.floor(i % each / most)
      return kind === 'unit' ? [i % each % most * WIDE / most, line * 30, WIDE / most - 1, 26]
        : kind === 'row' ? [Math.floor(i / each) * (wide + 12), i % each * wide / each, wide, wide / each]
        : [i % row * CARD, Math.floor(i / row) * 26, CARD - 2, 24]
    }
    function paint(one) {
      const {parts, off, svg, end} = one, isCard = one.writer.kind === 'card', drawn = [], n = parts.length
      const heads = end.layers?.at(layer).weights ?? []
      const looks = heads[0]?.map((_, s) => heads.reduce((sum, own) => sum + own[s] / heads.length, 0)) ?? []
      const made = isCard ? [...one.before, ...one.after] : parts, kept = parts.flatMap((_, i) => off.has(i) ? [] : [i])
      const most = isCard ? 1 : Math.max(1e-9, ...parts.flatMap(({values}) => Array.from(values, Math.abs)))
      made.forEach((part, i) => {
        const [x, y, width, height] = place(one, i), old = i < n, gone = old && off.has(i)
        const values = isCard ? [looks[old ? kept.indexOf(i) : kept.length + i - n] ?? 0] : part.values, w = width / values.length
        values.forEach((v, j) => !gone && drawn.push(el('rect', {class: v < 0 ? 'transplant-cold' : 'transplant-hot',
          x: x + j * w, y, width: w, height, 'fill-opacity': Math.abs(v / most).toFixed(2)})))
        if (isCard) drawn.push(el('text', {x: x + w / 2, y: y + 17, class: old ? '' : 'transplant-new'}, shown(part)))
        if (gone) drawn.push(el('path', {class: 'transplant-cut', d: `M${x} ${y + height}L${x + width} ${y}`}))
        const pick = i === one.at ? 'transplant-part transplant-chosen' : 'transplant-part'
        if (old) drawn.push(el('rect', {class: pick, x, y, width, height, 'data-part': i}))
      })
      const [, y, , height] = place(one, Math.max(0, made.length - 1)), chosen = parts[one.at]
      svg.setAttribute('viewBox', `-2 -2 ${WIDE + 4} ${y + (height || 24) + 4}`)
      svg.setAttribute('aria-valuemax', Math.max(1, n))
      svg.setAttribute('aria-valuenow', one.at + 1)
      svg.setAttribute('aria-valuetext', !chosen ? 'It holds nothing.'
        : `${chosen.name}${isCard ? `, ${named(made[one.at])}` : ''}${off.has(one.at) ? ', cut out' : ''}`)
      svg.replaceChildren(...drawn)
    }
    function tell(one) {
      const {p, parts, writer, bars, words, size} = one, order = p ? [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, TOP) : []
      size.textContent = writer.kind === 'card' ? `${parts.length} cards` : `${parts.reduce((n, {values}) => n + values.length, 0)} numbers`
      bars.replaceChildren(...order.map((i) => el('li', {}, el('code', {}, shown(signs[i])),
        el('i', {style: `width:${(100 * p[i]).toFixed(1)}%`}), el('span', {}, percent(p[i])))))
      const whose = `${now.put ? 'text 1’s' : 'now'}${one.off.size ? `, ${one.off.size} cut` : ''}: `
      words.replaceChildren(...!p ? ['Text 2 is empty: nothing is read.']
        : [el('span', {}, `its own: ${one.alone}`), el('br'), whose, el('strong', {}, one.written)])
    }

    // ---- all of it
    const mend = () => readers.forEach(({off}) => off.clear())
    function swap() { now.put = !now.put; mend(); show() }
    function show() {
      for (const one of readers) { run(one); paint(one); tell(one) }
      boxes.forEach((_, which) => letters(which))
      back.textContent = now.put ? 'Give text 2 its own memory back' : 'Transplant again'
      const strange = [...new Set([...left[0], ...left[1]])].filter((c) => /[^\p{M}\p{Cf}]/u.test(c)).slice(0, 8).map(named)
      const missing = cue && both[1] && !both[1].includes(cue) ? `Nothing is asked for: text 2 has no ${named(cue)}.` : ''
      note.textContent = strange.length ? `Left out, because ${all} never saw it: ${strange.join(', ')}. ${missing}` : missing
      clearTimeout(saying)
      const told = ({name, written, off}) => `${name} writes “${written.slice(0, 8)}”${off.size ? `, ${off.size} cut out` : ''}`
      const own = `by itself ${readers[0].name} “${readers[0].alone.slice(0, 8)}”.`
      saying = setTimeout(() => said.say(`${note.textContent} ${readers.map(told).join('; ')}; ${own}`), PAUSE)
    }
    function use(which, text) {
      const all = Array.from(text, (c) => ids.has(c) ? c : c.toLowerCase())
      left[which] = new Set(all.slice(0, 1000).filter((c) => !ids.has(c)))
      both[which] = all.filter((c) => ids.has(c)).slice(0, MOST).join('')
    }
    const fields = [0, 1].map((which) => el('input', {type: 'text', className: 'transplant-field', maxLength: 200, spellcheck: false,
      autocomplete: 'off', dir: 'auto', oninput: ({target}) => { use(which, target.value); anew() }}))
    function anew() {
      now.taken = both[0].length
      now.dropped = Math.max(0, cue ? both[1].indexOf(cue) : both[1].search(/\S+\s*$/))
      now.put = true
      mend()
      show()
    }
    function pair(next) { now.pair = next % texts.length; texts[now.pair].forEach((text, i) => { fields[i].value = text; use(i, text) }) }
    const back = button('', swap)
    // For a link: what was read, where it is put, whether it is, and the parts that were cut, each behind its model's place
    const held = () => [now.taken, now.dropped, +now.put, ...readers.flatMap(({off}, r) => [...off].map((i) => `${r}_${i}`))].join('-')
    function hold(text) {
      if (!/^\d+-\d+-[01](-\d+_\d+)*$/.test(text)) return false
      const [to, at, put, ...cuts] = text.split('-')
      now.taken = clip(+to, 0, both[0].length)
      now.dropped = clip(+at, 0, Math.max(0, both[1].length - 1))
      now.put = put === '1'
      mend()
      readers.forEach(run)
      for (const [r, i] of cuts.map((cut) => cut.split('_'))) if (readers[r]?.parts[i]) readers[r].off.add(+i)
      show()
      return held() === text
    }
    body.append(el('p', {className: 'live-task', id: help}, 'Drag a letter of text 1 onto a letter of text 2, '
      + 'or press one of each. Press a part of a memory to cut it out.'),
      ...boxes.map((box, i) => el('div', {className: 'transplant-line'}, el('span', {}, ['take from', 'drop into'][i]), box)), note,
      el('div', {className: 'transplant-models'}, cards),
      el('div', {className: 'live-buttons'}, back, button('Mend all', () => { mend(); show() }),
        button('Other texts', () => { pair(now.pair + 1); anew() })),
      Object.assign(more('Write the texts', fields.map((field, i) =>
        el('label', {className: 'transplant-own'}, el('span', {}, `Text ${i + 1}`), field))), {open: readers.length === 1}),
      kept('held', held, hold), said.element, ghost)
    pair(0)
    show()
  })
})
