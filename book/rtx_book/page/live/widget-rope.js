// "Pull the rope": a word, and noise before it is to be written back. One handle pulls the word, the other the noise, and
// every model writes what it still knows, beside the bytes that it holds.
RTX.part('widget-rope', (RTX) => {
  const {el, button, check, voice, BitReader, RopeLane, lettersOf, ropeLetter, ropeMost: MOST} = RTX
  const SLICE = 7, PAUSE = 900, PULL = 1600  // milliseconds
  const NOISE = '~*+:=%^#', WIDE = 620, GRIP = 22
  const plural = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`
  const bytes = (n) => n < 1000 ? `${n} bytes` : `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} kB`
  const clamp = (v, most) => Math.max(0, Math.min(most, Math.round(v)))

  // options: word, pause: at first; trained: {word, pause}, the most of the training; lanes: {name: {model, look, carries,
  // and what RTX.BitReader is told}}, of which `carries` names the model that takes its place by the switch
  RTX.widget('rope', (body, {word: given = 'memory', pause = 0, trained = {word: 12, pause: 60}, lanes}, models) => {
    const random = RTX.random(7), noise = Array.from({length: MOST.pause}, () => 26 + random.below(8))
    const filler = Array.from({length: MOST.word}, () => random.below(26))
    const voiced = voice('live-aside')
    const now = {typed: [], word: null, letters: 0, pause, carries: false}

    // ---- the lanes
    const readers = new Map()
    function readerOf(name) {
      if (!readers.has(name)) readers.set(name, new RopeLane(new BitReader(models[name].weights, lanes[name]), noise))
      return readers.get(name)
    }
    const rows = Object.entries(lanes).filter(([, {hidden}]) => !hidden).map(([name, {look, carries}]) => {
      const letters = el('span', {className: 'rope-letters', 'aria-hidden': 'true'}), right = el('span', {className: 'rope-right'})
      const held = el('span', {className: 'rope-held'}), title = el('span', {}, name), aloud = el('span', {className: 'live-aside'})
      const line = el('svg', {class: `live-swatch ${look}`, viewBox: '0 0 28 14', 'aria-hidden': 'true'}, el('path', {class: 'live-line', d: 'M0 7H28'}))
      const row = el('li', {className: 'rope-lane'}, el('span', {className: 'rope-name'}, line, title), letters, aloud, right, held)
      return {name, carries, title, letters, right, held, aloud, row, job: null, at: null}
    })
    const modelOf = ({name, carries}) => now.carries && carries || name
    function shown(lane, {said, bytes: held, word}) {
      const good = said.filter((id, i) => id === word[i]).length
      lane.letters.replaceChildren(...said.map((id, i) => el(id === word[i] ? 'span' : 's', {}, ropeLetter(id))))
      lane.right.textContent = `${good} of ${word.length}`
      lane.held.textContent = bytes(held)
      lane.aloud.textContent = `writes ${said.map(ropeLetter).join('')}, right: `
      lane.row.classList.remove('rope-busy')
    }
    let queue = [], frame = 0, saying = 0
    // All lanes write anew; those that are at it go on, towards what is wanted now
    function write() {
      clearTimeout(saying)
      if (!now.word.length) {
        queue = []
        for (const lane of rows) {
          for (const part of [lane.letters, lane.right, lane.held, lane.aloud]) part.textContent = ''
          lane.job = null
        }
        return
      }
      for (const lane of rows) {
        lane.row.classList.add('rope-busy')
        if (lane.job && lane.job.word !== now.word) lane.job = null
        if (!queue.includes(lane)) queue.push(lane)
      }
      frame ||= requestAnimationFrame(slice)
    }
    function slice() {
      const end = performance.now() + SLICE
      frame = 0
      while (queue.length && performance.now() < end) {
        const lane = queue[0]
        lane.job ||= {word: now.word, steps: readerOf(modelOf(lane)).write(now)}
        const {done, value} = lane.job.steps.next()
        if (!done) continue
        lane.job = null
        queue.shift()
        shown(lane, value)
        if (value.pause !== now.pause) queue.push(lane)  // pulled on while it wrote
      }
      if (queue.length) frame = requestAnimationFrame(slice)
      else saying = setTimeout(tell, PAUSE)
    }
    const tell = () => voiced.say(`${plural(now.word.length, 'letter')}, ${plural(now.pause, 'letter')} of noise. `
      + `${rows.map((lane) => `${modelOf(lane)} ${lane.right.textContent}`).join(', ')}.`)

    // ---- the rope
    const cord = ['rope-edge', 'rope-cord', 'rope-twist'].map((name) => el('path', {class: name}))
    const beads = el('g'), specks = el('g', {class: 'rope-specks'}), marks = el('g', {class: 'rope-marks'})
    const label = () => el('text', {class: 'rope-label'}), names = {word: label(), pause: label()}
    const track = el('path', {class: 'rope-track'})
    const svg = el('svg', {class: 'rope'})
    let place = null
    const handle = (what, name, big) => {
      const made = el('g', {class: 'rope-handle', role: 'slider', tabindex: 0, 'aria-label': name, 'aria-valuemin': 0, 'aria-valuemax': MOST[what]},
        el('circle', {r: GRIP, class: 'rope-reach'}), el('circle', {r: 13, class: 'rope-grip'}), el('path', {class: 'rope-arrows', d: 'M-3 -4L-7 0L-3 4M3 -4L7 0L3 4'}))
      let from = null
      made.addEventListener('pointerdown', (event) => {
        stop()
        from = {x: event.clientX, value: valueOf(what), scale: place.scale[what]}
        made.setPointerCapture(event.pointerId)
      })
      made.addEventListener('pointermove', ({clientX}) => { if (from) set(what, from.value + (clientX - from.x) / from.scale) })
      for (const end of ['pointerup', 'pointercancel']) made.addEventListener(end, () => { from = null })
      made.addEventListener('keydown', (event) => {
        const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -Infinity, End: Infinity}[event.key]
        if (!step || event.ctrlKey || event.altKey || event.metaKey) return
        event.preventDefault()
        stop()
        set(what, valueOf(what) + step * big)
      })
      return made
    }
    const valueOf = (what) => what === 'word' ? now.letters : now.pause
    const handles = {word: handle('word', 'Letters of the word', 1), pause: handle('pause', 'Letters of noise', 10)}
    svg.append(track, ...cord, marks, specks, beads, names.word, names.pause, handles.word, handles.pause)

    function set(what, value) {
      const next = clamp(value, MOST[what])
      if (next === valueOf(what)) return
      if (what === 'pause') now.pause = next
      else cut(next)
      draw()
      write()
    }
    function cut(letters) {
      const word = [...now.typed, ...filler.slice(now.typed.length)].slice(0, letters)
      now.letters = letters
      if (String(word) !== String(now.word)) now.word = word
    }
    // A wide figure has one line; on a phone the noise goes on below the word
    function measure() {
      const W = Math.max(240, Math.floor(svg.getBoundingClientRect().width || 600)), wide = W >= WIDE
      const scale = {word: wide ? Math.min(17, 0.4 * W / MOST.word) : (W - 44) / MOST.word}
      const end = wide ? 12 + MOST.word * scale.word + 56 : 46
      scale.pause = (W - end - 20) / MOST.pause
      place = {W, wide, scale, y: 44, below: wide ? 44 : 138, H: wide ? 92 : 186}
      svg.setAttribute('viewBox', `0 0 ${W} ${place.H}`)
      svg.setAttribute('height', place.H)
      draw()
    }
    function draw() {
      if (!place) return
      const {wide, scale, y, below, W} = place, a = 12 + now.letters * scale.word + 10
      const from = wide ? a : 12, b = from + (wide ? 38 : 34) + now.pause * scale.pause
      const sag = Math.min(24, (b - from) / 5) * (1 - now.pause / MOST.pause)
      const bend = wide ? '' : `C${a + 40} ${y + 26} ${W - 10} ${y + 30} ${W / 2} ${(y + below) / 2}S-16 ${below - 34} ${from} ${below}`
      const d = `M0 ${y}H${a}${bend}Q${(from + b) / 2} ${below + 2 * sag} ${b} ${below}`
      for (const one of cord) one.setAttribute('d', d)
      const under = (x) => { const t = (x - from) / (b - from); return below + 4 * sag * t * (1 - t) }
      beads.replaceChildren(...now.word.map((id, i) => {
        const x = 12 + (i + 0.5) * scale.word, w = Math.min(15, scale.word - 1)
        return el('g', {class: i < now.typed.length ? 'rope-bead' : 'rope-bead rope-added'},
          el('rect', {x: x - w / 2, y: y - 10, width: w, height: 20, rx: Math.min(7, w / 2)}), el('text', {x, y: y + 4}, ropeLetter(id)))
      }))
      const some = Math.floor((b - from - 44) / 13)
      specks.replaceChildren(...Array.from({length: Math.max(0, Math.min(some, now.pause))}, (_, i) => {
        const x = from + 24 + (i + 0.5) * 13
        return el('text', {x, y: under(x) - 10}, NOISE[noise[i] - 26])
      }))
      const mark = (x, level, away, most) => [el('path', {d: `M${x} ${level - 17}V${level + 17}`}), el('text', {x, y: level + away}, `trained to ${most}`)]
      const last = from + (wide ? 38 : 34) + trained.pause * scale.pause
      marks.replaceChildren(...mark(12 + trained.word * scale.word, y, 32, trained.word), ...mark(Math.max(last, 44), below, -24, trained.pause))
      track.setAttribute('d', `M${b} ${below}H${W - 4}`)
      handles.word.setAttribute('transform', `translate(${a + 4} ${y})`)
      handles.pause.setAttribute('transform', `translate(${b} ${below})`)
      say('word', `word: ${plural(now.letters, 'letter')}`, a, y - 24)
      say('pause', `noise: ${now.pause}, then “repeat”`, b, below + 34)
    }
    function say(what, text, x, y) {
      const own = names[what], half = 3.6 * text.length
      own.textContent = text
      own.setAttribute('x', Math.max(half, Math.min(place.W - half, x)))
      own.setAttribute('y', y)
      handles[what].setAttribute('aria-valuenow', valueOf(what))
      handles[what].setAttribute('aria-valuetext', text)
    }

    // ---- who does not drag: the rope is pulled in a second, or at once for who wants no motion
    let pulling = 0
    const stop = () => cancelAnimationFrame(pulling)
    function pull(what, to) {
      stop()
      if (RTX.still()) { set(what, to); return }
      const from = valueOf(what), begun = performance.now()
      const on = () => {
        const t = Math.min(1, (performance.now() - begun) / PULL)
        set(what, from + (to - from) * t * t * (3 - 2 * t))
        if (t < 1) pulling = requestAnimationFrame(on)
      }
      on()
    }
    const end = (what) => () => pull(what, MOST[what])
    function release() {
      stop()
      cut(now.typed.length)
      now.pause = pause
      draw()
      write()
    }

    // ---- what the reader writes
    const note = el('p', {className: 'live-task rope-note'})
    const field = el('input', {type: 'text', value: given, spellcheck: false, autocomplete: 'off', autocapitalize: 'off', maxLength: 20000, oninput: read})
    function read() {
      const {word, foreign, over} = lettersOf(field.value)
      stop()
      now.typed = word
      cut(word.length)
      note.textContent = !word.length ? 'Type a word: the letters a to z count.'
        : [foreign ? 'Only the letters a to z count.' : '', over ? `Only the first ${MOST.word} letters count.` : ''].join(' ').trim()
      note.hidden = !note.textContent
      draw()
      write()
    }
    const carries = check('Positions that carry over', false, (on) => {
      now.carries = on
      for (const lane of rows) if (lane.carries) {
        lane.title.textContent = modelOf(lane)
        lane.job = null
      }
      write()
    })
    body.append(
      el('div', {className: 'live-controls'}, el('label', {className: 'rope-field'}, el('span', {}, 'A word'), field)),
      note, svg,
      el('div', {className: 'live-buttons'}, button('Pull the pause', end('pause')), button('Pull the word', end('word')), button('Let go', release), carries),
      el('ul', {className: 'rope-lanes'}, rows.map(({row}) => row)), voiced.element)
    read()
    new ResizeObserver(() => requestAnimationFrame(measure)).observe(body)
    measure()
  })
})
