// "Be the gates": one LSTM unit or one GRU unit with one input. The reader sets pulses and holds gates at any step;
// a row is a step. Where no hand holds a gate, the weights decide.
RTX.part('widget-gates', (RTX) => {
  const {el, two} = RTX
  const NAMES = {lstm: 'LSTM', gru: 'GRU'}
  const WORDS = {
    x: 'input', i: 'input gate', f: 'forget gate', o: 'output gate', r: 'reset gate', z: 'update gate',
    g: 'candidate', n: 'candidate', c: 'cell state', h: 'state',
  }
  const KEEPERS = {lstm: 'forget gates', gru: 'update gates'}
  const PLACES = {lstm: ['x', 'i', 'f', 'o', 'g', 'c', 'h'], gru: ['x', 'r', 'z', 'n', 'h']}
  // The parts of a kept text as a pattern parts each; null where one does not fit
  function parted(text, pattern) {
    const found = text.split('_').filter(Boolean).map((part) => pattern.exec(part)?.slice(1))
    return found.every(Boolean) ? found : null
  }
  const percent = (share) => `${(100 * share).toFixed(share < 0.0995 && share > 0 ? 1 : 0)}\u00a0%`

  const BRIEF = ['x', 'f', 'c'], PLAIN = {x: 'heard', f: 'gate', c: 'memory'}

  // options: steps, pulses {step: height}, follow (a step), bias of the keeping gate; brief: true shows the LSTM's line
  // alone, with its input and its forget gate
  RTX.widget('gates', (body, {steps: T = 12, pulses = {}, follow = 3, bias = 2, brief = false}) => {
    const x = Array.from({length: T}, (_, t) => pulses[t + 1] || 0), hands = {lstm: {}, gru: {}}
    const models = {lstm: RTX.BY_HAND.lstm(), gru: RTX.BY_HAND.gru()}
    let kind = 'lstm', at = {t: follow - 1, name: 'f'}, run = []
    const voice = RTX.voice('live-aside'), table = el('tbody'), head = el('tr'), buttons = new Map(), drawn = el('div')
    const key = (t, name) => `${t} ${name}`, hand = (t, name) => hands[kind][key(t, name)]
    const places = () => brief ? BRIEF : PLACES[kind]
    const isGate = (name) => RTX.GATED[kind].gates.includes(name)

    function compute() {
      const weights = models[kind], H = weights.weight_hh_l0.c, block = RTX.GATED[kind].blocks.indexOf(RTX.GATED[kind].keep)
      weights.bias_ih_l0.v[block * H] = bias
      const held = x.map((_, t) => Object.fromEntries(
        RTX.GATED[kind].gates.filter((name) => hand(t, name) !== undefined).map((name) => [name, [hand(t, name)]])))
      run = RTX.gated(weights, x.map((v) => Float64Array.of(v)), held)
    }
    const value = (t, name) => name === 'x' ? x[t] : run[t][name][0]
    const memory = (t) => t < 0 ? 0 : run[t][RTX.GATED[kind].memory][0]

    // Set by hand: a number, or undefined to give the gate back to the weights
    function set(t, name, v) {
      if (name === 'x') x[t] = v
      else if (v === undefined) delete hands[kind][key(t, name)]
      else hands[kind][key(t, name)] = v
      show()
    }
    // A press: a pulse comes or goes; a gate is shut if it is more open than shut, and opened otherwise
    function press(t, name) {
      at = {t, name}
      const v = value(t, name)
      set(t, name, v >= 0.5 || (name === 'x' && v) ? 0 : 1)
      const what = name !== 'x' ? `the ${WORDS[name]} is ${hand(t, name) ? 'open' : 'shut'}`
        : x[t] ? `a pulse of ${two(x[t])}` : 'no pulse'
      voice.say(`Step ${t + 1}: ${what}. ${summary()}`)
    }
    function move(event, t, name) {
      const names = places().filter((one) => one === 'x' || isGate(one)), column = names.indexOf(name)
      const to = {ArrowUp: [t - 1, column], ArrowDown: [t + 1, column], ArrowLeft: [t, column - 1],
        ArrowRight: [t, column + 1], Home: [0, column], End: [T - 1, column]}[event.key]
      if (!to) return
      event.preventDefault()
      at = {t: Math.min(T - 1, Math.max(0, to[0])), name: names[Math.min(names.length - 1, Math.max(0, to[1]))]}
      show()
      buttons.get(key(at.t, at.name)).focus()
    }

    function build() {
      buttons.clear()
      head.replaceChildren(el('th', {scope: 'col'}, 'step'),
        ...places().map((name) => el('th', {scope: 'col', title: WORDS[name], className: `live-gates-${name}`},
          brief ? PLAIN[name] : name)), left)
      table.replaceChildren(...x.map((_, t) => {
        const cells = places().map((name) => {
          const cell = el('td', {className: `live-gates-${name}`})
          if (name === 'x' || isGate(name)) {
            const made = el('button', {type: 'button', onclick: () => press(t, name),
              onfocus: () => { if (at.t !== t || at.name !== name) { at = {t, name}; show() } },
              onkeydown: (event) => move(event, t, name)})
            buttons.set(key(t, name), made)
            cell.append(made)
          }
          return cell
        })
        return el('tr', {}, el('th', {scope: 'row'}, String(t + 1)), cells, el('td', {className: 'live-gates-left'}))
      }))
    }
    const left = el('th', {scope: 'col'})
    function show() {
      compute()
      const s = follow - 1
      left.textContent = brief ? `left of step ${follow}` : `left of ${follow}`
      left.title = `the share of what step ${follow} wrote that is left`
      for (const [t, row] of [...table.children].entries()) {
        row.classList.toggle('live-gates-here', t === at.t)
        places().forEach((name, k) => {
          const made = buttons.get(key(t, name)), v = value(t, name)
          if (!made) { row.children[k + 1].textContent = two(v); return }
          const by = name !== 'x' && hand(t, name) !== undefined
          made.textContent = name === 'x' ? String(v).replace('-', '−') : two(v)
          made.className = by || (name === 'x' && v) ? 'live-gates-set' : ''
          made.style.setProperty('--share', Math.max(0, Math.min(1, Math.abs(v))))
          made.tabIndex = t === at.t && name === at.name ? 0 : -1
          made.setAttribute('aria-label', `step ${t + 1}, ${WORDS[name]} ${two(v)}${by ? ', by hand' : ''}`)
        })
        const cell = row.lastElementChild, share = t < s ? null : RTX.left(run, s, t)
        cell.textContent = share === null ? '' : percent(share)
        cell.style.setProperty('--share', share || 0)
      }
      const name = isGate(at.name) ? at.name : RTX.GATED[kind].keep, held = (one) => hand(at.t, one) !== undefined
      drawn.replaceChildren(RTX.gateDrawing(kind, run[at.t], memory(at.t - 1), at.t + 1, (one) => press(at.t, one), held))
      const ranges = {x: pulse, gate}
      for (const one in ranges) ranges[one].label.hidden = (at.name === 'x') !== (one === 'x')
      if (at.name === 'x') pulse.set(Math.round(20 * x[at.t]) + 20)
      else gate.set(Math.round(100 * value(at.t, name)))
      place.textContent = `Step ${at.t + 1}, ${WORDS[at.name]}:`
      words.textContent = summary()
    }
    function summary() {
      const s = follow - 1, end = T - 1, wrote = run[s].wrote[0], {memory: name} = RTX.GATED[kind]
      const share = RTX.left(run, s, end), made = kind === 'lstm'
        ? `i × g = ${two(run[s].i[0])} × ${two(run[s].g[0])}` : `(1 − z) × n = ${two(1 - run[s].z[0])} × ${two(run[s].n[0])}`
      const others = memory(end) - RTX.worth(run, s, end)
      return `Step ${follow} wrote ${made} = ${two(wrote)}. At step ${T} that is worth ${two(RTX.worth(run, s, end))}: `
        + `the ${KEEPERS[kind]} of steps ${follow + 1} to ${T} leave ${percent(share)} of it. `
        + `All other steps together wrote what is now worth ${two(others)}; so ${name} is ${two(memory(end))} at step ${T}.`
    }
    const tell = () => voice.say(summary(), false)
    const pulse = RTX.range('height', Array.from({length: 41}, (_, k) => (k - 20) / 20), 20, (v) => { set(at.t, 'x', v); tell() }, two)
    const gate = RTX.range('how far open', Array.from({length: 101}, (_, k) => k / 100), 100,
      (v) => { set(at.t, isGate(at.name) ? at.name : RTX.GATED[kind].keep, v); tell() }, two)
    // They follow the chosen cell; what was set is kept cell by cell
    for (const {input} of [pulse, gate]) input.dataset.unkept = ''
    const kept = [
      RTX.kept('pulses', () => x.flatMap((v, t) => v ? `${t + 1}-${Math.round(20 * v) + 20}` : []).join('_'), (text) => {
        const set = parted(text, /^(\d+)-(\d+)$/)
        if (!set?.every(([t, k]) => t >= 1 && t <= T && k <= 40)) return false
        x.fill(0)
        for (const [t, k] of set) x[t - 1] = (k - 20) / 20
        show()
      }),
      RTX.kept('hands', () => Object.entries(hands).flatMap(([one, held]) => Object.entries(held).map(([where, v]) =>
        `${one}-${where.replace(' ', '-')}-${Math.round(100 * v)}`)).join('_'), (text) => {
        const set = parted(text, /^(lstm|gru)-(\d+)-([a-z])-(\d+)$/)
        if (!set?.every(([one, t, name, v]) => t < T && RTX.GATED[one].gates.includes(name) && v <= 100)) return false
        for (const one in hands) hands[one] = {}
        for (const [one, t, name, v] of set) hands[one][key(+t, name)] = v / 100
        show()
      }),
      RTX.kept('chosen', () => `${at.t + 1}-${at.name}`, (text) => {
        const [[t, name] = []] = parted(text, /^(\d+)-([a-z])$/) || []
        if (!(t >= 1 && t <= T) || !places().includes(name) || (name !== 'x' && !isGate(name))) return false
        at = {t: t - 1, name}
        show()
      })]
    const biases = Array.from({length: 33}, (_, k) => k / 4), place = el('strong'), words = el('p', {className: 'live-task'})
    const say = (b) => {
      const keep = 1 / (1 + Math.exp(-b)), half = RTX.halfLife(keep)
      const kept = brief ? `keeps ${keep.toFixed(3)} per step` : `${b}: keeps ${keep.toFixed(3)}`
      return `${kept}, half-life ${half.toFixed(half < 10 ? 1 : 0)} steps`
    }
    const given = el('label', {className: 'live-select'}, el('span', {}, 'follow what was written at step'),
      el('select', {autocomplete: 'off', onchange: (event) => { follow = +event.target.value; show(); voice.say(summary()) }},
        x.slice(0, -1).map((_, t) => el('option', {value: t + 1, selected: t + 1 === follow}, String(t + 1)))))
    const reset = (word, change) => RTX.button(word, () => { change(); show(); voice.say(`${word}. ${summary()}`) })
    const all = (name, v) => x.forEach((_, t) => { hands[kind][key(t, name)] = v })
    const keeping = RTX.range(brief ? 'the gate' : 'forget bias (GRU: bias of z)', biases, biases.indexOf(bias),
      (v) => {
        bias = v
        show()
        tell()
      }, say).label
    const grid = el('table', {}, el('caption', {}, `Press a number under ${brief ? 'heard' : 'x'}: a pulse. `
      + 'Press a gate: it shuts or opens.'), el('thead', {}, head), table)
    const handsOff = reset('Hands off', () => { hands[kind] = {} })
    const keep = reset('Keep everything', () => all(RTX.GATED[kind].keep, 1)), none = reset('No pulses', () => x.fill(0))
    if (brief) body.append(el('div', {className: 'live-controls'}, keeping), el('div', {className: 'live-gates live-gates-brief'}, grid),
      el('div', {className: 'live-buttons'}, handsOff, keep, none), voice.element, ...kept)
    else body.append(
      el('div', {className: 'live-controls'},
        RTX.radios('cell', NAMES, kind, (v) => {
          kind = v
          at = {t: at.t, name: RTX.GATED[kind].keep}
          build(); show(); voice.say(`${NAMES[kind]}. ${summary()}`)
        }, RTX.swatch), keeping, given),
      el('div', {className: 'live-gates-room'}, el('div', {className: 'live-gates'}, grid,
        el('div', {className: 'live-gates-seen'}, drawn, words))),
      el('div', {className: 'live-controls'}, place, gate.label, pulse.label),
      el('div', {className: 'live-buttons'},
        RTX.button('Give this gate back', () => {
          if (isGate(at.name)) set(at.t, at.name, undefined)
          voice.say(`${place.textContent} by the weights. ${summary()}`)
        }),
        handsOff, keep, none),
      voice.element, ...kept)
    build()
    show()
  })
})
