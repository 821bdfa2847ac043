// The rope as it is drawn: beads for the letters of the word, a cord for the noise, and two handles that are sliders.
RTX.part('rope-picture', (RTX) => {
  const {el, ropeLetter, ropeMost: MOST} = RTX
  const NOISE = '~*+:=%^#', WIDE = 620, GRIP = 22, START = 12
  const KEYS = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -Infinity, End: Infinity}
  const plural = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`

  // now: {word, typed, letters, pause}, as it is at any time; noise: the ids of all that may come; trained: {word, pause},
  // the most of the training; set(what, value): what a hand wants; stop(): that a hand is there
  RTX.ropePicture = ({now, noise, trained, set, stop}) => {
    const path = (name) => el('path', {class: name}), group = (name) => el('g', {class: name})
    const cord = ['rope-edge', 'rope-cord', 'rope-twist'].map(path), track = path('rope-track')
    const beads = group('rope-beads'), specks = group('rope-specks'), marks = group('rope-marks'), svg = el('svg', {class: 'rope'})
    const names = {word: el('text', {class: 'rope-label'}), pause: el('text', {class: 'rope-label'})}
    const valueOf = (what) => what === 'word' ? now.letters : now.pause
    let place = null

    function handle(what, name, big) {
      const about = {'aria-label': name, 'aria-valuemin': 0, 'aria-valuemax': MOST[what]}
      const made = el('g', {class: 'rope-handle', role: 'slider', tabindex: 0, ...about},
        el('circle', {r: GRIP, class: 'rope-reach'}), el('circle', {r: 13, class: 'rope-grip'}),
        el('path', {class: 'rope-arrows', d: 'M-3 -4L-7 0L-3 4M3 -4L7 0L3 4'}))
      let from = null
      made.addEventListener('pointerdown', (event) => {
        stop()
        from = {x: event.clientX, value: valueOf(what), scale: place[what]}
        made.setPointerCapture(event.pointerId)
      })
      made.addEventListener('pointermove', ({clientX}) => { if (from) set(what, from.value + (clientX - from.x) / from.scale) })
      for (const end of ['pointerup', 'pointercancel']) made.addEventListener(end, () => { from = null })
      made.addEventListener('keydown', (event) => {
        const step = KEYS[event.key]
        if (!step || event.ctrlKey || event.altKey || event.metaKey) return
        event.preventDefault()
        stop()
        set(what, valueOf(what) + step * big)
      })
      return made
    }
    const handles = {word: handle('word', 'Letters of the word', 1), pause: handle('pause', 'Symbols of noise', 10)}
    svg.append(track, ...cord, marks, specks, beads, names.word, names.pause, handles.word, handles.pause)

    // A wide figure has one line; on a phone the noise goes on below the word
    function measure() {
      const W = Math.max(240, Math.floor(svg.getBoundingClientRect().width || 600)), wide = W >= WIDE
      const word = wide ? Math.min(18, 0.55 * W / MOST.word) : (W - 44) / MOST.word
      place = {W, wide, word, y: 40, below: wide ? 40 : 130}
      const H = wide ? 86 : 174
      svg.setAttribute('viewBox', `0 0 ${W} ${H}`)
      svg.setAttribute('height', H)
      draw()
    }
    function bead(id, i) {
      const {word, y} = place, x = START + (i + 0.5) * word, w = Math.min(15, word - 1)
      return el('g', {class: i < now.typed.length ? 'rope-bead' : 'rope-bead rope-added'},
        el('rect', {x: x - w / 2, y: y - 10, width: w, height: 20, rx: Math.min(7, w / 2)}), el('text', {x, y: y + 4}, ropeLetter(id)))
    }
    function draw() {
      if (!place) return
      const {wide, word, y, below, W} = place, a = START + now.letters * word + 10
      const from = wide ? a : START, first = from + (wide ? 38 : 34), scale = place.pause = (W - first - 22) / MOST.pause
      const b = first + now.pause * scale, sag = Math.min(24, (b - from) / 5) * (1 - now.pause / MOST.pause)
      const turn = `C${a + 40} ${y + 26} ${W - 10} ${y + 30} ${W / 2} ${(y + below) / 2}S-16 ${below - 34} ${from} ${below}`
      for (const one of cord) one.setAttribute('d', `M0 ${y}H${a}${wide ? '' : turn}Q${(from + b) / 2} ${below + 2 * sag} ${b} ${below}`)
      track.setAttribute('d', `M${b} ${below}H${W - 4}`)
      beads.replaceChildren(...now.word.map(bead))
      const some = Math.max(0, Math.min(now.pause, Math.floor((b - from - 44) / 13)))
      specks.replaceChildren(...Array.from({length: some}, (_, i) => {
        const x = from + 24 + (i + 0.5) * 13, t = (x - from) / (b - from)
        return el('text', {x, y: below + 4 * sag * t * (1 - t) - 10}, NOISE[noise[i] - 26])
      }))
      const mark = (what, x, level) => beyond(what) ? [el('path', {d: `M${x} ${level - 17}V${level + 17}`})] : []
      marks.replaceChildren(...mark('word', START + trained.word * word, y), ...mark('pause', first + trained.pause * scale, below))
      handles.word.setAttribute('transform', `translate(${a + 4} ${y})`)
      handles.pause.setAttribute('transform', `translate(${b} ${below})`)
      say('word', `word: ${plural(now.letters, 'letter')}${far('word')}`, a, y - 24)
      say('pause', `noise: ${now.pause}${far('pause')}, then “repeat”`, b, below + 34)
    }
    const beyond = (what) => valueOf(what) > trained[what]
    const far = (what) => beyond(what) ? ` (trained to ${trained[what]})` : ''
    function say(what, text, x, y) {
      const own = names[what], half = 3.6 * text.length
      own.textContent = text
      own.setAttribute('x', Math.max(half, Math.min(place.W - half, x)))
      own.setAttribute('y', y)
      handles[what].setAttribute('aria-valuenow', valueOf(what))
      handles[what].setAttribute('aria-valuetext', text)
    }
    return {svg, draw, measure, valueOf}
  }
})
