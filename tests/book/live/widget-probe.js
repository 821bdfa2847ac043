// A widget with one control of each sort, weights, and work in a worker: tests/book/live/test_start.py.
RTX.part('widget-probe', (RTX) => {
  const {el} = RTX
  RTX.widget('probe', (body, options, models) => {
    if (options.fails) throw new Error('on purpose')
    const out = el('p', {className: 'out', id: RTX.id('out')}), worked = el('p', {className: 'worked'})
    const voice = RTX.voice()
    const worker = RTX.worker(['engine'], (RTX, port) => {
      port.onmessage = ({data}) => port.postMessage(data * RTX.matrix(2, 3).v.length)
    })
    worker.onmessage = ({data}) => { worked.textContent = `${data} ${worker.where}` }
    worker.postMessage(7)
    const xs = [0, 1, 2, 3], x = {from: 0, to: 4, label: 'step'}, y = {from: 1e-12, to: 1, log: true, label: 'norm'}
    const chart = RTX.chart({x, y, alt: 'lines'})
    for (const [name, end] of [['first', 0.01], ['second', 0.011], ['third', 0.009], ['broken', NaN]])
      chart.line(name, xs, [1, 1e-4, end, end], {name, cls: 'live-rnn'})
    chart.settle()
    const say = (what) => { out.textContent = what; voice.say(what, false) }
    body.append(
      RTX.range('length', [10, 20, 50], 1, (v) => say(`length ${v}`), (v) => `${v} steps`).label,
      RTX.radios('cell', {rnn: 'tanh RNN', gru: 'GRU'}, 'rnn', (v) => say(`cell ${v}`), RTX.swatch),
      RTX.select('rate', {0.01: '0.01', 0.1: '0.1'}, 0.1, (v) => say(`rate ${v}`)),
      RTX.check('clip', true, (on) => say(`clip ${on}`)), RTX.button('Go', () => say('gone')),
      out, worked, chart.svg, voice.element)
    const {weights} = models.m || {}
    out.textContent = weights ? `${weights.w.r} ${weights.w.c} ${weights.w.v.join(' ')}` : `none ${options.word}`
  })
})
