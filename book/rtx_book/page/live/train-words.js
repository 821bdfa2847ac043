// What the trainer tells in words: how a cell stands, what was asked, what earlier runs came to. No DOM.
// A run is what the page keeps of one cell: {kind, length, steps, errors, share, events, state, asked, answer, ways}.
RTX.part('train-words', (RTX) => {
  const NAMES = {rnn: 'tanh RNN', irnn: 'IRNN', lstm: 'LSTM', gru: 'GRU', indrnn: 'IndRNN'}
  const last = (list) => list[list.length - 1]
  const times = (v) => v > 0 ? RTX.power(Math.round(Math.log10(v))) : '0'
  const plain = (error) => error < 1e4 ? error.toFixed(3) : 'above 10,000'
  const sentence = (parts) => parts.length ? ` ${parts.join('; ').replace(/^./, (c) => c.toUpperCase())}.` : ''

  // What happened to a cell on its way, in order; of the gradient only if it was shut at first
  function happened({events: {opened, moved, learned}, steps, state}, gradients = true) {
    return [
      gradients && opened > 1 && `gradient reached 10⁻³ at step ${opened}`, moved && `error left 1/6 at step ${moved}`,
      learned && `learned at step ${learned}`,
      state === 'diverged' && `diverged at step ${steps}: clip, start smaller or lower the rate`,
    ].filter(Boolean)
  }
  const latest = (run, gradients) => `${NAMES[run.kind]}: ${last(happened(run, gradients))}.`
  // How it stands
  function told(run, gradients = true) {
    const {kind, errors, steps, share, events, state} = run
    if (!steps) return `${NAMES[kind]}: not trained yet.`
    const parts = happened(run, gradients)
    if (!events.moved && state === 'learning' && steps >= 50) parts.push('error still at 1/6')
    const through = gradients ? `, gradient at the first state ${times(share)} of that at the last` : ''
    return `${NAMES[kind]}, step ${steps}: error ${plain(last(errors))}${through}.${sentence(parts)}`
  }
  // The sums that were asked last, each with the answers of those who were asked it: a cell that has ended keeps its
  function question(runs) {
    const sums = new Map()
    for (const {kind, asked: [a, b], answer} of runs.filter((run) => run.steps && run.asked.length === 2)) {
      const sum = `${a.toFixed(2)} + ${b.toFixed(2)} = ${(a + b).toFixed(2)}`
      sums.set(sum, [...sums.get(sum) || [], `${NAMES[kind]} says ${answer.toFixed(2)}`])
    }
    if (!sums.size) return 'Two of T random numbers are marked. Each network reads all T, then has to say their sum.'
    return `Asked last: ${[...sums].map(([sum, answers]) => `${sum}, ${answers.join(', ')}`).join('; ')}.`
  }
  function earlier(runs) {
    const end = ({state, steps, errors}) => state === 'learning'
      ? `error ${plain(last(errors))} at step ${steps}` : `${state} at step ${steps}`
    return `Thin lines, earlier runs: ${runs.map((r) => `${NAMES[r.kind]}, T = ${r.length}, ${end(r)}`).join('; ')}.`
  }
  // What the scan takes beside the loop (RTX.bothWays)
  const bothWays = ({steps, scanned, rounds, difference}, T) => [
    `IndRNN’s forward pass, both ways, measured here: ${T} steps one after another take ${steps.toFixed(1)} ms,`,
    `the scan’s ${rounds} rounds ${scanned.toFixed(1)} ms.`,
    `Their states differ by at most ${times(difference)} of the largest one.`,
    'A page has one thread, so a round costs what all its maps cost; the scan pays where thousands are made at once.',
  ].join(' ')
  RTX.trainWords = {NAMES, told, happened, latest, question, earlier, bothWays}
})
