// A scene of digits that the reader arranges, and what models say that they see: word by word, with how sure they are,
// and, of a model that looks back, where it looked for each word.
RTX.part('widget-scene', (RTX) => {
  const {el, id, select, check, button, voice, Captioner, paintScene, captionScene} = RTX
  const NAMES = 'zero one two three four five six seven eight nine'.split(' '), SIZES = ['small', 'big']
  const percent = (share) => Math.round(100 * share)
  const square = (x, y, side) => `M${x} ${y}h${side}v${side}h${-side}z`

  // options: words by id; side: pixels of the picture; scans {small: rows of ink 0..255 of each digit, big: the same};
  // scenes [[[digit, size, x, y], ...], ...], of which the first stands there. models: {name: a Captioner}.
  RTX.widget('scene', (body, {words, side, scans, scenes}, models) => {
    const made = Object.entries(models).map(([name, {weights}]) => [name, new Captioner(weights)])
    const shares = (scan) => scan.map((line) => line.map((v) => v / 255))
    const inks = Object.fromEntries(SIZES.map((size) => [size, scans[size].map(shares)]))
    const spoken = voice('live-aside'), told = el('p', {className: 'live-task'}), help = id('help')
    let digits = [], chosen = 2, next = 0, later

    // ---- the picture: each digit is one stop for the Tab key
    const look = el('path', {class: 'scene-frame', d: square(0, 0, side)})
    const layers = [el('g', {class: 'scene-looks'}), el('g')]
    const view = {viewBox: `-0.5 -0.5 ${side + 1} ${side + 1}`, role: 'group', 'aria-label': 'The picture'}
    const stage = el('svg', {class: 'scene-stage', ...view}, layers[0], look, layers[1])
    const inkOf = (one) => inks[SIZES[one.size]][one.digit]
    const within = (one) => {
      const most = side - inkOf(one).length
      one.x = Math.min(most, Math.max(0, Math.round(one.x)))
      one.y = Math.min(most, Math.max(0, Math.round(one.y)))
    }
    function key(event, one) {
      const move = {ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]}[event.key]
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (move) {
        one.x += move[0] * (event.shiftKey ? 4 : 1)
        one.y += move[1] * (event.shiftKey ? 4 : 1)
      } else if (/^\d$/.test(event.key)) one.digit = +event.key
      else if (event.key === ' ' || event.key === 'Enter') one.size = 1 - one.size
      else return
      event.preventDefault()
      draw()
    }
    function grip(one) {
      const box = el('path', {class: 'scene-box'}), ink = el('g')
      const stop = {tabindex: 0, role: 'button', 'aria-describedby': help, onkeydown: (event) => key(event, one)}
      const g = el('g', {class: 'scene-digit', ...stop}, ink, box)
      let from = null
      g.addEventListener('pointerdown', (event) => {
        if (event.button) return
        g.setPointerCapture(event.pointerId)
        from = {x: event.clientX, y: event.clientY, at: {...one}, scale: stage.getBoundingClientRect().width / (side + 1)}
      })
      g.addEventListener('pointermove', (event) => {
        if (!from) return
        one.x = from.at.x + (event.clientX - from.x) / from.scale
        one.y = from.at.y + (event.clientY - from.y) / from.scale
        draw()
      })
      for (const end of ['pointerup', 'pointercancel']) g.addEventListener(end, () => { from = null })
      return {g, box, ink, shown: null}
    }
    const rows = el('div', {className: 'scene-rows'})
    function place(scene) {
      digits = scene.map(([digit, size, x, y]) => ({digit, size: SIZES.indexOf(size), x, y}))
      digits.forEach((one) => { one.grip = grip(one) })
      layers[1].replaceChildren(...digits.map((one) => one.grip.g))
      third.checked = digits.length > 2
      controls()
      draw()
    }
    function controls() {
      const list = Object.fromEntries(NAMES.map((name, i) => [i, name]))
      rows.replaceChildren(...digits.map((one, i) => {
        const which = select(`Digit ${i + 1}`, list, one.digit, (value) => { one.digit = +value; draw() })
        const size = check('big', one.size === 1, (on) => { one.size = +on; draw() })
        one.fields = [which.querySelector('select'), size.querySelector('input')]
        return el('div', {className: 'scene-row'}, which, size)
      }))
    }
    const more = check('a third digit', false, (on) => {
      const scene = digits.slice(0, 2).map((one) => [one.digit, SIZES[one.size], one.x, one.y])
      const free = [[1, 1], [side - 9, 1], [1, side - 9], [side - 9, side - 9]]
      const far = ([x, y]) => Math.min(...scene.map(([, , a, b]) => Math.abs(a - x) + Math.abs(b - y)))
      place(on ? [...scene, [2, 'small', ...free.reduce((best, at) => far(at) > far(best) ? at : best)]] : scene)
    })
    const third = more.querySelector('input')

    // ---- what the models say
    const lines = made.map(([name]) => el('p', {className: 'scene-words', 'aria-label': name}))
    const said = el('div', {className: 'scene-said'},
      made.map(([name], m) => el('div', {}, el('p', {className: 'live-head'}, name), lines[m])))
    function draw() {
      for (const one of digits) {
        within(one)
        const {g, box, ink} = one.grip, rowsOf = inkOf(one), shown = `${one.digit} ${one.size}`
        if (one.grip.shown !== shown) {
          ink.replaceChildren(...rowsOf.flatMap((line, r) => line.flatMap((v, c) =>
            v ? el('path', {d: square(c, r, 1.02), 'fill-opacity': v.toFixed(2)}) : [])))
          box.setAttribute('d', square(0, 0, rowsOf.length))
          one.grip.shown = shown
          one.fields[0].value = one.digit
          one.fields[1].checked = one.size === 1
        }
        g.setAttribute('transform', `translate(${one.x} ${one.y})`)
        g.setAttribute('aria-label', `${SIZES[one.size]} ${NAMES[one.digit]}, ${one.x} from the left, ${one.y} from the top`)
      }
      say()
    }
    function say() {
      const scene = digits.map((one) => ({...one, ink: inkOf(one), size: SIZES[one.size], digit: NAMES[one.digit]}))
      const right = captionScene(scene), wanted = [...right.words, '<end>'], picture = paintScene(scene, side)
      const aloud = []
      made.forEach(([name, model], m) => {
        const out = model.write(picture, {start: words.indexOf('<start>'), end: words.indexOf('<end>')})
        const texts = out.map(({word}) => words[word]), wrong = texts.filter((text, t) => text !== wanted[t]).length
        lines[m].replaceChildren(...out.map(({p, weights}, t) => {
          const off = texts[t] !== wanted[t], text = texts[t].replace('<end>', '.').replace('<pad>', '-').replace('<start>', '-')
          const parts = [el('b', {}, text), el('i', {}, `${percent(p)}`)], className = off ? 'scene-wrong' : ''
          if (!weights) return el('span', {className}, parts)
          const press = () => { chosen = t; say(); lines[m].children[t]?.focus() }
          return el('button', {type: 'button', className, 'aria-pressed': String(t === chosen), onclick: press}, parts)
        }))
        if (out[0].weights) shade(out[Math.min(chosen, out.length - 1)].weights)
        aloud.push(`${name}: ${texts.filter((text) => text !== '<end>').join(' ')}; ${wrong ? `${wrong} wrong` : 'right'}.`)
      })
      const close = right.clear < 3 ? ' That is a close call: in training nothing was decided by less than 3 pixels.' : ''
      told.textContent = `By the grammar: ${right.words.join(' ')}.${close}`
      clearTimeout(later)
      later = setTimeout(() => spoken.say(aloud.join(' ')), 900)
    }
    function shade(weights) {
      const wide = Math.sqrt(weights.length), cell = side / wide, most = Math.max(...weights)
      layers[0].replaceChildren(...Array.from(weights, (w, i) =>
        el('path', {d: square((i % wide) * cell, Math.floor(i / wide) * cell, cell), 'fill-opacity': (0.75 * w / most).toFixed(3)})))
    }
    // A link brings back each digit with its size and its place
    const text = () => digits.map(({digit, size, x, y}) => [digit, size, x, y].join('-')).join('_')
    const kept = RTX.kept('scene', text, (given) => {
      if (!/^\d-[01]-\d\d?-\d\d?(_\d-[01]-\d\d?-\d\d?){1,2}$/.test(given)) return false
      place(given.split('_').map((one) => one.split('-').map(Number)).map(([digit, size, x, y]) => [digit, SIZES[size], x, y]))
      return true
    })
    body.append(
      el('div', {className: 'scene'},
        el('div', {}, stage, el('p', {className: 'scene-help', id: help},
          'Drag a digit, or move it with the arrow keys. Space changes its size, a number key the digit.')),
        el('div', {className: 'scene-side'}, rows, more,
          el('div', {className: 'live-buttons'}, button('Another scene', () => place(scenes[next++ % scenes.length]))))),
      told, said, spoken.element, kept)
    place(scenes[next++])
  })
})
