// Which symbol stood a few steps ago? Trained models with different positions on a sequence of the reader's own.
RTX.part('widget-positions', (RTX) => {
  const {el, radios, range, select, button, voice, chart, SchemeTransformer} = RTX
  const LENGTHS = [8, 12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256], WINDOWS = [Infinity, 64, 32, 16, 8, 6, 5]
  const FIRST = [0, 16, 32, 64, 128], MOST = LENGTHS.at(-1), TESTS = 20, BIN = 8, KEPT = 4
  const percent = (share) => `${Math.round(100 * share)} %`
  const sign = (id) => id.toString(16)
  const pause = () => new Promise((done) => { setTimeout(done) })
  const largest = (list, from = 0, to = list.length) => {
    let best = from
    for (let i = from + 1; i < to; i++) if (list[i] > list[best]) best = i
    return best
  }

  // The share of right answers from position `from` on, before `to`, NaN where none is due
  function share(ids, answers, lag, from, to) {
    let right = 0, due = 0
    for (let t = Math.max(lag, from); t < Math.min(to, ids.length); t++) { due++; right += answers[t] === ids[t - lag] }
    return right / due
  }
  // The head that puts most weight `lag` steps back, up to the trained length: [block, head]
  function finder(looks, lag, trained) {
    let best = [0, 0], most = -1
    looks.forEach((heads, block) => heads.forEach((queries, head) => {
      let sum = 0
      queries.slice(lag, trained).forEach(({from, a}, n) => { sum += a[n - from] || 0 })
      if (sum > most) { most = sum; best = [block, head] }
    }))
    return best
  }

  // options: schemes {name of a model: its positions}; lag; trained, the length of the training
  RTX.widget('positions', (body, {schemes, lag, trained, heads = 4}, models) => {
    const made = Object.fromEntries(Object.entries(models).map(([name, {weights}]) =>
      [name, new SchemeTransformer(weights, {positions: schemes[name], heads})]))
    const draw = RTX.random(Date.now()), told = voice('live-aside')
    let name = Object.keys(made)[0], reach = Infinity, first = 0, query = 0, head = 'best', ticket = 0, out = null
    let ids = [], strange = '', testing = false
    const curves = new Map()

    const typed = el('textarea', {rows: 2, className: 'positions-typed', spellcheck: false, autocomplete: 'off',
      autocapitalize: 'off', oninput: () => take(typed.value)})
    const length = range('length', LENGTHS, LENGTHS.indexOf(24), (L) => fresh(L))
    const place = range('position', Array.from({length: MOST}, (_, i) => i), 0, (i) => { query = Math.min(i, ids.length - 1); look() },
      (i) => out ? sentence(Math.min(i, ids.length - 1)) : String(i))
    place.label.classList.add('positions-place')
    place.input.dataset.unkept = ''
    // How far it goes the sequence says, which a link brings first and which may still be read
    const kept = RTX.kept('position', () => query < ids.length - 1 ? String(query) : '', (text) => {
      if (!/^\d*$/.test(text) || text >= ids.length) return false
      query = text ? +text : ids.length - 1
      if (out?.logits.length === ids.length * out.V) { place.set(query); look() }
    })
    const strip = el('div', {className: 'positions-strip', 'aria-hidden': 'true', onclick: (event) => {
      const cell = event.target.closest('[data-i]')
      if (cell) { query = +cell.dataset.i; place.set(query); look() }
    }})
    const sums = el('p', {className: 'live-task'}), where = el('p', {className: 'live-task'})
    const counted = el('p', {className: 'live-task', hidden: true})
    const asked = select('head', {best: `the one that looks ${lag} back`}, 'best', (value) => { head = value; look() })
    const tests = button(`Test ${TESTS} fresh sequences`, () => test())
    const picture = chart({width: 400, height: 230, right: 110, alt: 'Share of right answers at each position of fresh sequences',
      x: {from: 0, to: MOST, label: 'position'}, y: {from: 0, to: 1, label: 'right', ticks: () => [[0, '0'], [0.5, '0.5'], [1, '1']]}})
    const plot = el('div', {className: 'live-charts', hidden: true}, picture.svg)

    const answered = (t) => largest(out.logits, t * out.V, (t + 1) * out.V) - t * out.V
    const chosen = () => head === 'best' ? finder(out.looks, lag, trained) : head.split(' ').map(Number)
    function sentence(t) {
      if (t < lag) return `${t}: nothing is due yet`
      const says = answered(t), sure = RTX.softmax(out.logits.subarray(t * out.V, (t + 1) * out.V))[says]
      const due = says === ids[t - lag] ? `${sign(says)} is right` : `${sign(says)} is wrong, it was ${sign(ids[t - lag])}`
      return `${t}: ${due} (${percent(sure)} sure)`
    }
    function look() {
      const [block, own] = chosen(), {from, a} = out.looks[block][own][query], top = largest(a)
      for (const cell of strip.children) {
        const i = +cell.dataset.i
        cell.style.setProperty('--share', percent(a[i - from] || 0).replace(' ', ''))
        cell.classList.toggle('positions-query', i === query)
        cell.classList.toggle('positions-due', i === query - lag)
      }
      const back = query - from - top, five = a[query - lag - from] || 0
      where.textContent = `Position ${sentence(query)}. Head ${own + 1} of block ${block + 1} looks most at `
        + `${back ? `${back} steps back` : 'the symbol itself'} (${percent(a[top])} of its weight)`
        + `${back === lag || query < lag ? '.' : `; ${lag} steps back gets ${percent(five)}.`}`
      told.say(`${sums.textContent} ${where.textContent}`, false)
    }
    function show() {
      const answers = Array.from(ids, (_, t) => answered(t)), part = (a, b) => percent(share(ids, answers, lag, a, b))
      strip.replaceChildren(...ids.map((id, i) => {
        const wrong = i >= lag && answers[i] !== ids[i - lag]
        return el('span', {'data-i': i, className: `${wrong ? 'positions-wrong' : ''}${i === trained ? ' positions-edge' : ''}`},
          el('b', {}, sign(id)), el('i', {}, i < lag ? '·' : sign(answers[i])))
      }))
      sums.textContent = ids.length <= lag ? `No answer is due before the symbol number ${lag + 1}.`
        : `${name}, ${ids.length} symbols: ${part(0, MOST)} of the answers right`
        + (ids.length > trained ? `; ${part(0, trained)} before position ${trained}, ${part(trained, MOST)} from there on.` : '.')
      sums.textContent += strange
      query = Math.min(query, ids.length - 1)
      place.input.max = ids.length - 1
      place.set(query)
      look()
    }
    // Reads the sequence, a block at a time, unless something newer was asked for meanwhile
    async function run() {
      const mine = ++ticket, steps = made[name].slowly(ids, {first, window: reach})
      for (let step = steps.next(); ; step = steps.next()) {
        if (step.done) { out = step.value; show(); return }
        if (ids.length > 64) await pause()
        if (mine !== ticket) return
      }
    }
    function fresh(L, chance = draw) {
      ids = Array.from({length: L}, () => chance.below(16))
      typed.value = ids.map(sign).join('')
      strange = ''
      query = L - 1
      return run()
    }
    function take(text) {
      const kept = [...text.toLowerCase()].filter((one) => /[0-9a-f]/.test(one)).slice(0, MOST)
      if (!kept.length) return
      const others = [...new Set(text.toLowerCase().replace(/[0-9a-f\s]/g, ''))]
      strange = others.length ? ` Left out: ${others.join(' ')}` : ''
      ids = kept.map((one) => parseInt(one, 16))
      query = ids.length - 1
      run()
    }
    // Accuracy at each position over fresh sequences of this length, in short slices
    async function test() {
      if (testing) return
      const key = [name, reach < MOST ? `window ${reach}` : '', first ? `from ${first}` : ''].filter(Boolean).join(', ')
      const L = Math.max(ids.length, lag + 1), kind = schemes[name], model = made[name], asks = {first, window: reach}
      const right = new Float64Array(L)
      testing = true
      tests.setAttribute('aria-disabled', 'true')  // it keeps the focus
      try {
        for (let n = 1; n <= TESTS; n++) {
          const x = Array.from({length: L}, () => draw.below(16)), steps = model.slowly(x, asks)
          let step = steps.next()
          while (!step.done) { await pause(); step = steps.next() }
          const {logits, V} = step.value
          for (let t = lag; t < L; t++) right[t] += largest(logits, t * V, (t + 1) * V) - t * V === x[t - lag]
          tests.textContent = `${n} of ${TESTS}`
        }
      } finally {
        testing = false
        tests.removeAttribute('aria-disabled')
        tests.textContent = `Test ${TESTS} fresh sequences`
      }
      plotted(key, kind, right, L)
    }
    function plotted(key, kind, right, L) {
      const xs = [], ys = [], mean = (a, b) => right.subarray(a, b).reduce((s, r) => s + r, 0) / (b - a) / TESTS
      for (let at = lag; at < L; at += BIN) {
        xs.push((at + Math.min(at + BIN, L) - 1) / 2)
        ys.push(mean(at, Math.min(at + BIN, L)))
      }
      plot.hidden = false
      picture.line('edge', [trained - 0.5, trained - 0.5], [0, 1], {cls: 'live-base'})
      for (const old of [...curves.keys()].filter((one) => one === key)) curves.delete(old)
      curves.set(key, true)
      while (curves.size > KEPT) { const [old] = curves.keys(); curves.delete(old); picture.drop(old) }
      picture.line(key, xs, ys, {cls: `positions-${kind}${reach < MOST || first ? ' live-old' : ''}`, name: key})
      picture.settle()
      const near = mean(lag, Math.min(trained, L)), far = L > trained ? `, ${percent(mean(trained, L))} from there on` : ''
      counted.hidden = false
      counted.textContent = `${key}: over ${TESTS} fresh sequences of ${L} symbols, ${percent(mean(lag, L))} right; `
        + `${percent(near)} before position ${trained}${far}.`
      told.say(counted.textContent)
    }
    const blocks = Object.values(made)[0].blocks
    for (let b = 0; b < blocks; b++) for (let h = 0; h < heads; h++)
      asked.querySelector('select').append(el('option', {value: `${b} ${h}`}, `block ${b + 1}, head ${h + 1}`))
    body.append(  // what is drawn stands above the fold
      el('div', {className: 'live-controls'}, radios('Positions', Object.fromEntries(Object.keys(made).map((m) => [m, m])), name,
        (value) => { name = value; run() }), length.label),
      el('label', {className: 'positions-label'}, el('span', {}, 'Sequence: symbols 0 to 9 and a to f'), typed),
      sums, strip, place.label, where,
      el('div', {className: 'live-buttons'}, button('Draw a new sequence', () => fresh(ids.length)), tests),
      counted, plot,
      el('div', {className: 'live-controls'},
        range('window', WINDOWS, 0, (size) => { reach = size; run() }, (size) => size < MOST ? `${size} symbols` : 'all').label,
        range('count from', FIRST, 0, (at) => { first = at; run() }).label, asked), told.element, kept)
    return fresh(24, RTX.random(0))  // the same in every visit, so that a link tells what differs
  })
})
