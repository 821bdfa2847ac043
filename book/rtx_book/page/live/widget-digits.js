// "Draw a digit": a grid of cells to draw in. A recurrent network reads it row by row; beside each row stand the state
// after it and what the network then believes.
RTX.part('widget-digits', (RTX) => {
  const {el, likeliest} = RTX, N = 8, LATER = 700, TALL = 24, FINE = 80
  const grid = () => Array.from({length: N}, () => new Float64Array(N))
  const clamp = (i) => Math.min(N - 1, Math.max(0, i))
  const percent = (p) => `${Math.round(100 * p)}\u00a0%`

  // options: scans, {digit: rows of ink from 0 to 16}; start, the digit that stands there at first
  RTX.widget('digits', (body, {scans = {}, start}, models) => {
    const reader = new RTX.RowReader(models.reader.weights), voice = RTX.voice(), names = Object.keys(scans)
    const units = reader.core.hidden, classes = reader.linear.weight.r
    let scan = grid(), drawn = grid(), ink = grid(), next = Math.max(0, names.indexOf(String(start)))
    let pen = null, saying = 0

    // ---- the pad: 64 checkboxes, one stop for the Tab key
    const boxes = [], fills = []
    const inked = (r, c) => drawn[r][c] > 0 || scan[r][c] > 0.5
    const set = (r, c, on) => {
      drawn[r][c] = on ? 1 : 0
      if (!on) scan[r][c] = 0
    }
    function key(event, r, c) {
      const to = {
        ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1], Home: [r, 0], End: [r, N - 1],
      }[event.key]
      if (!to) return
      event.preventDefault()
      const [y, x] = to.map(clamp)
      boxes[r][c].tabIndex = -1
      boxes[y][x].tabIndex = 0
      boxes[y][x].focus()
      if (!event.shiftKey) return
      set(r, c, true)
      set(y, x, true)
      read()
    }
    function cell(r, c) {
      const box = el('input', {
        type: 'checkbox', autocomplete: 'off', tabIndex: r + c ? -1 : 0, 'aria-label': `row ${r + 1}, column ${c + 1}`,
        onchange: () => { set(r, c, box.checked); read() }, onkeydown: (event) => key(event, r, c),
      })
      boxes[r][c] = box
      fills[r][c] = el('span')
      return el('td', {role: 'gridcell'}, el('label', {'data-at': `${r} ${c}`}, box, fills[r][c]))
    }
    const line = (r) => {
      boxes.push([])
      fills.push([])
      return el('tr', {role: 'row'}, Array.from({length: N}, (_, c) => cell(r, c)))
    }
    const help = 'Drawing of 8 rows of 8 cells. Arrows move, space draws, Shift and an arrow draw a line.'
    const pad = el('table', {className: 'live-pad', role: 'grid', 'aria-label': help, 'data-unkept': ''},
      el('tbody', {role: 'rowgroup'}, Array.from({length: N}, (_, r) => line(r))))
    // Mouse, pen and finger: the first cell decides whether the stroke draws or rubs out
    function paint(event) {
      const at = document.elementFromPoint(event.clientX, event.clientY)?.closest('[data-at]')
      if (!at || !pad.contains(at)) return
      const [r, c] = at.dataset.at.split(' ').map(Number), on = inked(r, c)
      if (pen === null) pen = !on
      if (on === pen) return
      set(r, c, pen)
      read()
    }
    pad.addEventListener('pointerdown', (event) => {
      if (event.button) return
      event.preventDefault()
      pad.releasePointerCapture?.(event.pointerId)
      pen = null
      paint(event)
    })
    pad.addEventListener('pointermove', (event) => { if (pen !== null) paint(event) })
    for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => { pen = null })
    pad.addEventListener('click', (event) => { if (event.detail) event.preventDefault() })  // the pointer did it already

    // ---- beside each row: the state as bars, up for positive; and the belief
    const bars = Array.from({length: N}, () => el('path'))
    const strips = bars.map((path) => el('svg', {viewBox: `0 0 ${units * 5} ${TALL}`, preserveAspectRatio: 'none'},
      el('path', {class: 'live-axis', d: `M0 ${TALL / 2}H${units * 5}`}), path))
    const states = el('div', {className: 'live-states', role: 'img'}, strips)
    const shares = Array.from({length: N}, () => Array.from({length: classes}, () => el('td')))
    const belief = el('table', {className: 'live-belief'},
      el('thead', {}, el('tr', {}, Array.from({length: classes}, (_, d) => el('th', {scope: 'col'}, String(d))))),
      el('tbody', {}, shares.map((row) => el('tr', {}, row))))
    function read() {
      ink = RTX.soften(scan, drawn)
      ink.forEach((row, r) => row.forEach((value, c) => {
        boxes[r][c].checked = inked(r, c)
        fills[r][c].style.opacity = value
      }))
      const rows = reader.read(ink), answers = rows.map(({p}) => likeliest(p))
      rows.forEach(({p, h}, r) => {
        p.forEach((share, d) => {
          const td = shares[r][d]
          td.textContent = share >= 0.095 ? String(Math.round(100 * share)) : ''
          td.style.background = `color-mix(in srgb, var(--hot) ${Math.round(60 * share)}%, transparent)`
          td.className = d === answers[r] ? 'live-best' : ''
        })
        const tip = (v) => (TALL / 2 * (1 - 0.92 * v)).toFixed(1)
        bars[r].setAttribute('d', Array.from(h, (v, j) => `M${5 * j + 2.5} ${TALL / 2}V${tip(v)}`).join(''))
      })
      const moved = rows.map(({h}, r) => Math.sqrt(h.reduce((sum, v, j) => sum + (v - (r ? rows[r - 1].h[j] : 0)) ** 2, 0)))
      states.setAttribute('aria-label', `The ${units} numbers of the state after each row. They move most in row ${likeliest(moved) + 1}.`)
      clearTimeout(saying)
      const last = rows[N - 1].p, blank = ink.every((row) => row.every((value) => !value))
      const path = `row by row: ${answers.join(', ')}`
      const said = blank ? `The picture is blank. Before you draw, it guesses, ${path}.`
        : `It says ${answers[N - 1]} (${percent(last[answers[N - 1]])}); ${path}.`
      if (voice.element.textContent && !blank) saying = setTimeout(() => voice.say(said), LATER)  // after the stroke
      else voice.say(said)
    }

    // ---- what can be pressed
    function show(picture) {
      scan = picture
      drawn = grid()
      read()
    }
    const example = () => show(scans[names[next++ % names.length]].map((row) => Float64Array.from(row, (v) => v / 16)))
    const head = (text) => el('p', {className: 'live-head'}, text)
    // A link brings all inks, the greys too: multiples of 1/16 of a scan and of 3/10 beside a drawn cell, so of 1/80
    const kept = RTX.keptDrawing('ink', N * N, 2 * FINE + 1,
      () => scan.flatMap((row, r) => Array.from(row, (ink, c) => Math.round(FINE * ink) + (drawn[r][c] ? FINE + 1 : 0))),
      (levels) => {
        show(grid().map((row, r) => row.map((_, c) => levels[N * r + c] % (FINE + 1) / FINE)))
        drawn.forEach((row, r) => row.forEach((_, c) => { row[c] = +(levels[N * r + c] > FINE) }))
        read()
      })
    body.append(
      el('div', {className: 'live-digit'},
        el('div', {}, head('draw here'), pad), el('div', {className: 'live-side'}, head('its state'), states),
        el('div', {}, belief)),
      el('div', {className: 'live-buttons'},
        names.length ? RTX.button('An example', example) : null,
        RTX.button('Turn it over', () => show([...ink].reverse())), RTX.button('Clear', () => show(grid()))),
      voice.element, kept)
    if (names.length) example()
    else read()
  })
})
