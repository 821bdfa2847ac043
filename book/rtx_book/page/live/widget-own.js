// "Your own text": a small GRU learns a text of the reader's in the page, writes like it, and can be taken home as a file.
// options: text, what stands there at first; seed; limit, seconds of work until it pauses by itself.
RTX.part('widget-own', (RTX) => {
  const {el, button, voice} = RTX
  const WRITES = 220, WARM = 0.7, PAUSE = 400, NAME = 'own-text.safetensors'
  const KEEP = 0.9  // of the smoothed bits, at every step
  const seconds = (n) => `${n} seconds of work`

  RTX.widget('own', (body, {text: given = '', seed = 0, limit = 30}) => {
    const now = {run: 0, seed}, voiced = voice()
    let text = null, run = null, typing = 0, ending = () => {}, drawn = 0, link = null

    // ---- what the reader does
    const plain = {spellcheck: false, autocomplete: 'off', autocapitalize: 'off', dir: 'auto', 'data-unkept': ''}
    const field = el('textarea', {rows: 3, value: given, ...plain, oninput: () => {
      clearTimeout(typing)
      typing = setTimeout(begin, PAUSE)
    }})
    const file = el('input', {type: 'file', accept: 'text/*,.md,.tex,.csv', 'data-unkept': '', onchange: async () => {
      if (!file.files.length) return
      try {
        const read = await file.files[0].slice(0, 4 * RTX.ownMost + 8).text()  // a character has up to four bytes
        field.value = read.slice(0, 2 * RTX.ownMost + 1)
        begin()
      } catch { voiced.say('This file could not be read.') }
    }, onclick: () => { file.value = '' }})  // the same file may be chosen again
    const training = RTX.training(body, {parts: RTX.OWN, serve: (RTX, port, inPage) => RTX.ownTrainer(port, inPage),
      begins: () => text.fault ? null : 'It reads your text, here; nothing is sent anywhere.',
      asks: () => ({...now, ids: text.ids, vocabulary: text.symbols.length}), take, draw, voice: voiced})
    const reset = button('Reset', () => { now.seed++; begin() }), again = button('Write again', write)
    const save = button('Download the weights', download)

    // ---- what is seen
    const chart = RTX.chart({width: 400, height: 210, right: 78, alt: '', x: {from: 0, to: 200, label: 'training step'},
      y: {from: 0, to: 6, label: 'bits per character'}})
    const told = el('p', {className: 'live-task'}), title = el('p', {className: 'own-title'})
    const written = el('div', {className: 'own-written', dir: 'auto', tabIndex: 0, role: 'group', 'aria-label': 'What it writes'})
    const home = el('p', {className: 'live-task', hidden: true}, 'At home: ', el('code', {}, `model, task = rtx_lib.load("${NAME}")`),
      ', and ', el('code', {}, 'rtx_lib.generate(model, task, "", 200)'), ' goes on writing.')
    function draw() {
      const {symbols, counted, fault} = text, {x, y} = chart
      x.to = Math.max(200, run.steps * 1.05)
      y.to = Math.max(2, Math.ceil(Math.max(Math.log2(symbols.length || 1), counted) + 0.3))
      chart.frame()
      chart.line('counted', fault ? [] : [0, x.to], fault ? [] : [counted, counted], {cls: 'live-base', name: 'counting'})
      chart.line('seen', run.at, run.bits, {cls: 'live-gru live-old', name: 'learned'})
      chart.line('held', run.tested, run.held, {cls: 'live-gru', name: 'held out'})
      chart.settle()
      chart.svg.setAttribute('aria-label', says())
      training.start.disabled = Boolean(fault)
      save.disabled = again.disabled = !run.weights
      home.hidden = !run.weights
    }
    function says() {
      if (text.fault) return text.fault
      if (!run.held.length) return `Not trained yet. Counting pairs reaches ${text.counted.toFixed(2)} bits per character.`
      const held = run.held.at(-1), rises = held > Math.min(...run.held) + 0.1
      const more = rises ? ' It grows again: the text is learned by heart, not its language.' : ''
      return `Step ${run.steps}: ${held.toFixed(2)} bits per character on the last tenth, which it does not learn; `
        + `counting pairs reaches ${text.counted.toFixed(2)}.${more}`
    }

    // ---- it writes, at temperature WARM, behind the end of a line
    function write() {
      ending()
      if (!run.weights) return
      const model = new RTX.CharRecurrent(run.weights), chance = RTX.random(++run.written), {symbols} = text
      let id = Math.max(0, symbols.indexOf('\n')), out = ''
      const step = () => {
        const p = RTX.softmax(model.read(id).logits, WARM)
        let left = chance.uniform()
        for (id = 0; id < p.length - 1 && (left -= p[id]) > 0;) id++
        out += symbols[id]
        return [...out].length < WRITES
      }
      const steps = run.steps
      ending = RTX.slices(step, () => {
        title.textContent = `After ${steps} steps it writes:`
        written.textContent = out.trim() || '(only spaces)'
      })
    }
    function download() {
      if (link) URL.revokeObjectURL(link)
      link = URL.createObjectURL(new Blob([RTX.ownFile(run.weights, text.symbols, RTX.ownLength)]))
      el('a', {href: link, download: NAME}).click()
      voiced.say(`${NAME}: weights, settings and the characters, not your text.`)
    }

    // ---- the run
    function begin() {
      training.pause()
      ending()
      text = RTX.textOf(field.value)
      text.counted = text.fault ? 0 : RTX.countedBits(text.ids, text.symbols.length)
      run = {steps: 0, at: [], bits: [], mean: 0, weight: 0, tested: [], held: [], weights: null, written: 0}
      now.run++
      told.textContent = text.fault || text.told
      ;(text.fault ? first : rest).after(told)  // what is wrong stands by the text, all else below the chart
      title.textContent = 'It has not learned yet.'
      written.textContent = ''
      draw()
      voiced.say(text.fault ? '' : 'Press Train.')
    }
    function take({run: number, steps, bits, seconds: spent, held, weights}) {
      if (number !== now.run) return
      bits.forEach((value, i) => {
        run.mean = KEEP * run.mean + (1 - KEEP) * value
        run.weight = KEEP * run.weight + 1 - KEEP
        run.at.push(steps - bits.length + 1 + i)
        run.bits.push(run.mean / run.weight)
      })
      run.steps = steps
      training.used += spent
      if (weights) {
        run.tested.push(steps)
        run.held.push(held)
        run.weights = weights
        write()
        if (training.on) voiced.say(says(), false)
      }
      if (training.on && training.used > limit) training.pause(`${says()} Paused after ${seconds(limit)}; press Train to go on.`)
      const time = performance.now()
      if (!weights && time - drawn < (RTX.still() ? 2000 : 120)) return
      drawn = time
      draw()
    }

    const opened = el('label', {className: 'own-file'}, el('span', {}, 'or a file'), file)
    const first = el('div', {className: 'live-buttons'}, opened, training.start)
    const rest = el('div', {className: 'live-buttons'}, reset, again, save)
    body.append(
      el('label', {className: 'own-field'}, el('span', {}, 'Your text'), field), first,
      el('div', {className: 'live-charts'}, chart.svg, el('div', {className: 'own-writes'}, title, written)),
      voiced.element, rest, home)
    begin()
  })
})
