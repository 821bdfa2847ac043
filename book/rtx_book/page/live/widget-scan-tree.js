// "The loop is not a loop": the reader's chain of eight steps, joined round by round; every box opens to its four numbers.
RTX.part('widget-scan-tree', (RTX) => {
  const {el} = RTX, MANY = 1e100
  const two = (v) => v > MANY ? '∞' : (Math.abs(v) < 0.005 ? 0 : v).toFixed(2).replace('-', '−')
  const words = ({from, to}) => from === to ? `step ${from}` : `steps ${from} to ${to}`

  // options: u; z, the inputs of the steps
  RTX.widget('scan-tree', (body, {u = -0.7, z = [0.5, -0.2, 0.9, 0.4, -0.6, 0.3, 0.8, -0.1]}) => {
    const chain = [...z], weights = Array.from({length: 45}, (_, k) => (k - 22) / 20)
    let made = 1, at = {row: 0, t: 1}, rows = []
    const voice = RTX.voice('live-aside'), table = el('tbody'), told = el('p', {className: 'live-task'}), boxes = []

    // What a box is, in words: its map, and what it makes of h = 0
    function describe() {
      const {row, t} = at, box = rows[row][t], {a, u: slope, low, high} = box.map
      const first = low === high ? `The box of ${words(box)} is one map: whatever h was, it becomes ${two(low)}. `
        + 'A ReLU on the way has cut off all that came before.'
        : `The box of ${words(box)} is one map: h becomes ${two(a)} ${slope < 0 ? '−' : '+'} ${two(Math.abs(slope))} h, `
        + `but at least ${two(low)} and at most ${two(high)}.`
      if (box.from > 1) return `${first} It is made before anybody knows what h was at step ${box.from - 1}.`
      const loop = RTX.neuron(u, chain)[box.to - 1]
      const state = two(RTX.applyMap(box.map, 0))
      return `${first} It begins at step 1, so from h = 0 it gives the state of step ${box.to}: ${state}. The loop gives ${two(loop)}.`
    }
    function show() {
      rows = RTX.scanRounds(chain, u)
      boxes.forEach((line, row) => line.forEach((button, t) => {
        const box = rows[row][t], there = row < made
        button.textContent = !there ? '' : box.from === box.to ? String(box.to) : `${box.from}–${box.to}`
        button.disabled = !there
        button.className = there && box.from === 1 ? 'live-tree-full' : ''
        button.setAttribute('aria-pressed', String(there && row === at.row && t === at.t))
        button.setAttribute('aria-label', there ? `${row ? `round ${row}` : 'the steps'}: ${words(box)}` : `round ${row}: not made yet`)
        button.tabIndex = row === at.row && t === at.t ? 0 : -1
      }))
      told.textContent = describe()
      next.disabled = made === rows.length
    }
    function choose(row, t, focus) {
      at = {row: Math.min(made - 1, Math.max(0, row)), t: Math.min(chain.length - 1, Math.max(0, t))}
      show()
      if (focus) boxes[at.row][at.t].focus()
      voice.say(describe())
    }
    function key(event, row, t) {
      const to = {ArrowUp: [row - 1, t], ArrowDown: [row + 1, t], ArrowLeft: [row, t - 1], ArrowRight: [row, t + 1],
        Home: [row, 0], End: [row, chain.length - 1]}[event.key]
      if (!to) return
      event.preventDefault()
      choose(...to, true)
    }
    function round() {
      made++
      at = {row: made - 1, t: chain.length - 1}
      show()
      const full = rows[made - 1].filter(({from}) => from === 1).length
      if (next.disabled) again.focus()
      voice.say(`Round ${made - 1} joined boxes ${2 ** (made - 2)} apart. ${full} of ${chain.length} boxes now begin at step 1.`)
    }
    const next = RTX.button('Next round', round)
    const again = RTX.button('Start again', () => {
      made = 1
      at = {row: 0, t: 1}
      show()
      voice.say('Only the single steps are there.')
    })
    const inputs = chain.map((v, t) => el('input', {type: 'number', step: 0.1, value: v, autocomplete: 'off',
      'aria-label': `input z of step ${t + 1}`, oninput: (event) => {
        if (!Number.isFinite(event.target.valueAsNumber)) return
        chain[t] = event.target.valueAsNumber
        show()
        voice.say(describe(), false)
      }}))
    const total = RTX.scanRounds(chain, u).length
    for (let row = 0; row < total; row++) {
      boxes.push(chain.map((_, t) => el('button', {
        type: 'button', onclick: () => choose(row, t), onkeydown: (event) => key(event, row, t)})))
      table.append(el('tr', {}, el('th', {scope: 'row'}, row ? `round ${row}` : 'steps'), boxes[row].map((one) => el('td', {}, one))))
    }
    const weight = RTX.range('recurrent weight u', weights, weights.indexOf(u), (v) => { u = v; show(); voice.say(describe(), false) }, two)
    // The rounds that are made, and the box that is open
    const kept = RTX.kept('round', () => `${made - 1}-${at.row}-${at.t + 1}`, (text) => {
      const [, rounds, row, t] = /^(\d+)-(\d+)-(\d+)$/.exec(text) || []
      if (!(rounds < total && +row <= +rounds && t >= 1 && t <= chain.length)) return false
      made = +rounds + 1
      choose(+row, t - 1)
    })
    body.append(el('div', {className: 'live-controls'}, weight.label),
      el('div', {className: 'live-tree'}, el('table', {},
        el('thead', {}, el('tr', {}, el('th', {scope: 'row'}, 'z'), inputs.map((one) => el('td', {}, one)))), table)),
      el('div', {className: 'live-buttons'}, next, again), told, voice.element, kept)
    show()
  })
})
