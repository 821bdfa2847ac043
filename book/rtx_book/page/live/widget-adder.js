// "Type a sum": a Neural GPU adds two numbers in binary. Below each place stand its digits, the film of the image, band
// below band, and what the network would answer after the step that is picked.
RTX.part('widget-adder', (RTX) => {
  const {el, select, button, addition, whole, softmax} = RTX
  const LATER = 350, GAP = 3, TALL = 160, SLOWEST = 400, FASTEST = 100, LONGEST = 32
  const VIEWS = {change: 'what the step changed', answer: 'its answer so far', size: 'size of all channels'}
  const said = (number) => number.toLocaleString('en')
  const places = (count) => `${count} ${count === 1 ? 'place' : 'places'}`
  const largest = (values) => values.indexOf(Math.max(...values))
  const root = (values) => Math.sqrt(values.reduce((sum, v) => sum + v * v, 0) / values.length)

  // options: trained, the most binary digits of a number in the training; width, the columns of the network's image;
  // first and second, the numbers that stand there at first; offered, how many of the ready sums, or null for all
  RTX.widget('adder', (body, {trained, width = 4, first, second, offered = null}, models) => {
    const net = new RTX.NeuralGPU(models.adder.weights, {width}), voice = RTX.voice()
    let sum = null, steps = [], answers = [], shades = [], at = 0, view = 'change', later = 0, timer = 0

    // ---- what the reader does
    const field = (name) => el('input', {
      type: 'text', inputMode: 'numeric', autocomplete: 'off', spellcheck: false, maxLength: 40, 'aria-label': name,
      className: 'adder-number', oninput: () => { clearTimeout(later); later = setTimeout(add, LATER) },
    })
    const fields = {'first number': field('First number'), 'second number': field('Second number')}
    function put(a, b) {
      [a, b].forEach((number, k) => { Object.values(fields)[k].value = number })
      add()
    }
    const random = (long) => Math.floor(2 ** (long - 1) * (1 + Math.random()))  // of exactly so many binary digits
    const any = (long) => button(`Any two of ${long} bits`, () => put(random(long), random(long)))
    // Both numbers begin with 1 and then differ at each of so many places, here one and there the other having the 1
    function through(long) {
      const first = Math.floor(2 ** long * Math.random())
      put(2 * first + 1, 2 * (2 ** long - 1 - first) + 1)
    }
    const travel = (long) => button(`A carry through ${long} places`, () => through(long))
    const carry = (long) => button(`${said(2 ** long - 1)} + 1`, () => put(2 ** long - 1, 1))
    const step = el('input', {type: 'range', min: 0, step: 1, autocomplete: 'off', 'aria-label': 'Step', 'data-unkept': '',
      oninput: () => { stop(); show(+step.value) }})
    // How many steps there are the numbers say, which a link brings first
    const kept = RTX.kept('step', () => sum && at < sum.n && !timer ? String(at) : '', (text) => {
      if (later) add()
      stop()
      if (!/^\d*$/.test(text) || text > sum.n) return false
      show(text ? +text : sum.n)
    })
    const count = el('output', {'aria-live': 'off'}), player = button('Play', play)
    const channels = Array.from({length: net.channels}, (_, c) => [`channel ${c + 1}`, `channel ${c + 1}`])
    const controls = el('div', {className: 'live-controls'},
      el('label', {className: 'live-range'}, el('span', {}, 'Step'), step, count), player,
      select('Colour', {...VIEWS, ...Object.fromEntries(channels)}, view, (name) => { view = name; shade(); paint() }))
    player.classList.add('adder-play')

    // ---- the sum: a row of digits, the highest place first, as one writes them
    const canvas = el('canvas', {role: 'img'}), film = el('td', {className: 'adder-film'}, canvas)
    const table = el('table', {className: 'adder-sum'})
    const line = (name, values, mark = () => '') => el('tr', {}, el('th', {scope: 'row'}, name),
      values.map((value, i) => el('td', {className: mark(i)}, String(value))).reverse())
    const wrong = (answer) => answer.map((digit, i) => digit !== sum.digits[i])

    function add() {
      clearTimeout(later)
      later = 0
      stop()
      const faults = [], typed = Object.entries(fields).map(([name, input]) => {
        const {value, fault} = whole(input.value)
        input.setAttribute('aria-invalid', String(Boolean(fault)))
        if (fault) faults.push(`The ${name} ${fault}.`)
        return value
      })
      table.hidden = controls.hidden = faults.length > 0
      if (faults.length) {
        voice.say(`${faults.join(' ')} It takes whole numbers from 0 to ${said(2 ** LONGEST - 1)}.`)
        return
      }
      sum = addition(...typed)
      steps = net.run(sum.ids)
      answers = steps.map(({logits}) => logits.map(largest))
      film.colSpan = step.max = sum.n
      shade()
      show(sum.n)
      voice.say(judged(...typed))
    }
    // What became of the sum, in words
    function judged(a, b) {
      const last = answers.at(-1), bad = wrong(last).filter(Boolean).length, long = Math.max(RTX.bits(a), RTX.bits(b))
      const settled = answers.findIndex((_, t) => answers.slice(t).every((own) => own.join() === last.join()))
      return `${said(a)} + ${said(b)} = ${said(a + b)}. It answers ${said(RTX.fromDigits(last))}: `
        + `${bad ? `wrong at ${places(bad)} of ${sum.n}` : 'right'}. `
        + (settled < sum.n ? `Its answer stays from step ${settled} of ${sum.n} on.` : 'The last step still changed its answer.')
        + (sum.far ? ` The longest carry passes through ${places(sum.far)}.` : '')
        + (long > trained ? ` Numbers of ${long} bits are longer than any of its training.` : '')
    }
    function show(t) {
      at = t
      step.value = t
      const bad = wrong(answers[t]), many = bad.filter(Boolean).length
      table.replaceChildren(el('tbody', {},
        line('carry', sum.carries), line('first', sum.first), line('second', sum.second),
        el('tr', {}, el('th', {scope: 'row', className: 'adder-ends'}, el('span', {}, 'step 0'), el('span', {}, `step ${sum.n}`)), film),
        line('it says', answers[t], (i) => bad[i] ? 'adder-bad' : ''),
        line('wrong', bad.map((is) => is ? '✗' : '')), line('sum', sum.digits)))
      count.textContent = `${t} of ${sum.n}`
      const read = [...answers[t]].reverse().join(' ')
      step.setAttribute('aria-valuetext', `${t} of ${sum.n}: it says ${read}, ${many ? `${places(many)} wrong` : 'all right'}`)
      paint()
    }

    // ---- the film: a band for each step so far, in it the image, the column that is read on top
    const cell = (t, i, j) => steps[t].image.subarray((i * width + j) * net.channels, (i * width + j + 1) * net.channels)
    const change = (t, i, j) => root(t ? cell(t, i, j).map((v, c) => v - cell(t - 1, i, j)[c]) : cell(t, i, j))
    const values = {change, size: (t, i, j) => root(cell(t, i, j)), answer: (t, i) => softmax(steps[t].logits[i])[1]}
    const rows = () => view === 'answer' ? 1 : width
    // How strong each cell of each band is, from -1 to 1
    function shade() {
      const value = values[view] || ((t, i, j) => cell(t, i, j)[+view.split(' ')[1] - 1])
      shades = steps.map((_, t) => Array.from({length: sum.n * rows()}, (_, k) => value(t, Math.floor(k / rows()), k % rows())))
      const most = view === 'answer' ? 1 : Math.max(1e-12, ...shades.slice(1).flat().map(Math.abs))
      shades = shades.map((band) => band.map((v) => Math.max(-1, Math.min(1, v / most))))
    }
    function paint() {
      const wide = film.clientWidth, scale = globalThis.devicePixelRatio || 1, draw = canvas.getContext('2d')
      if (!sum || !wide) return
      const {n} = sum, thick = Math.max(3 * width, Math.min(24, Math.floor(TALL / (n + 1)))), tall = (n + 1) * (thick + GAP) - GAP
      canvas.style.height = `${tall}px`
      Object.assign(canvas, {width: Math.round(wide * scale), height: Math.round(tall * scale)})
      const style = getComputedStyle(body), hot = style.getPropertyValue('--hot'), cold = style.getPropertyValue('--cold')
      const x = (i) => Math.round((n - 1 - i) * wide / n * scale)  // the lowest place stands last
      const y = (t, row) => Math.round((t * (thick + GAP) + row * thick / rows()) * scale)
      draw.strokeStyle = style.color
      for (let t = 0; t <= at; t++) {
        shades[t].forEach((v, k) => {
          const i = Math.floor(k / rows()), row = k % rows()
          draw.fillStyle = v < 0 ? cold : hot
          draw.globalAlpha = Math.abs(v)
          draw.fillRect(x(i), y(t, row), x(i - 1) - x(i) - 1, y(t, row + 1) - y(t, row))
        })
        draw.globalAlpha = 1
        if (view === 'answer') wrong(answers[t]).forEach((bad, i) => bad && slash(draw, x(i), y(t, 0), x(i - 1), y(t, 1)))
      }
      canvas.setAttribute('aria-label', `The image after steps 0 to ${at}, a band each: ${VIEWS[view] || view}. `
        + (view === 'answer' ? 'A stroke marks what is wrong.' : moved()))
    }
    function slash(draw, left, top, right, foot) {
      draw.beginPath()
      draw.moveTo(left + 1, foot - 1)
      draw.lineTo(right - 2, top + 1)
      draw.stroke()
    }
    // Where the last step shown changed the image most, in words
    function moved() {
      const far = sum.ids.map((_, i) => root(Array.from({length: width}, (_, j) => change(at, i, j)))), place = largest(far)
      if (!at) return 'It holds the input.'
      return far[place] ? `Step ${at} changes most at place ${place + 1}, counted from the right.` : `Step ${at} changes nothing.`
    }

    // ---- time
    function stop() {
      clearInterval(timer)
      timer = 0
      player.textContent = 'Play'
    }
    function play() {
      if (timer) { stop(); return }
      show(at < sum.n ? at + 1 : 0)
      if (RTX.still()) return
      player.textContent = 'Pause'
      timer = setInterval(() => {
        if (body.isConnected && at < sum.n) show(at + 1)
        else stop()
      }, Math.min(SLOWEST, Math.max(FASTEST, 4000 / sum.n)))
    }

    body.append(
      el('div', {className: 'live-buttons adder-typed'}, fields['first number'], el('span', {}, '+'), fields['second number'],
        [any(trained), carry(trained), any(2 * trained), carry(2 * trained), travel(3 * trained), carry(LONGEST)]
          .slice(0, offered ?? undefined)),
      table, voice.element, controls, el('p', {className: 'live-task'}, `It has learnt to add numbers of up to ${trained} bits, 0 to `
        + `${said(2 ** trained - 1)}. Type two, larger ones too: up to ${LONGEST} bits.`), kept)
    put(first ?? 2 ** trained - 1, second ?? 1)
    new ResizeObserver(paint).observe(film)
    new MutationObserver(paint).observe(document.documentElement, {attributeFilter: ['data-theme']})  // in its inks
    new IntersectionObserver(([entry]) => { if (!entry.isIntersecting) stop() }).observe(body)
  })
})
