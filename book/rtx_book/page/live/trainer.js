// Several cells learn the adding problem side by side, step by step in turn, and say what happened to each. No DOM:
// it runs in a worker, RTX.worker(RTX.TRAINER, (RTX, port, inPage) => RTX.trainer(port, inPage)).
RTX.part('trainer', (RTX) => {
  // The rates at which the cells learn T = 100 soonest, of 0.001, 0.003, 0.01 and 0.03; a tanh RNN does not at any
  const RATES = {rnn: 0.003, irnn: 0.001, lstm: 0.01, gru: 0.01, indrnn: 0.01}
  const BASELINE = 1 / 6  // the error of whoever answers 1
  const LEARNED = 0.004, MOVED = 0.8 * BASELINE, OPEN = 1e-3, DIVERGED = 1e4
  const KEEP = 0.95  // of the smoothed error, at every step

  // One cell as it learns. state: 'learning', 'learned' or 'diverged'.
  // ways: of an IndRNN with the scan, RTX.bothWays.
  // events, each the step at which it first came about: opened: the gradient at the first state is OPEN of that at the
  // last (both as means of their logarithms over the last steps); moved: the smoothed error is a fifth below 1/6;
  // half: it is below 0.05; learned: below LEARNED.
  class Learner {
    constructor(settings) {
      this.model = new RTX.Adder(settings)
      this.state = 'learning'
      this.events = {}
      this.mean = this.weight = this.log = 0
      this.share = null
      this.ways = null
      if (this.model.scan) {  // shown beside the training: what the scan takes, and that it gives the same
        this.model.draw()
        this.ways = RTX.bothWays(this.model)
      }
    }
    get steps() { return this.model.steps }
    error() { return this.mean / this.weight }
    step(rate, clip) {
      const {model} = this, {loss} = model.train(rate, clip), norms = model.stateGradients()
      this.mean = KEEP * this.mean + (1 - KEEP) * loss
      this.weight = KEEP * this.weight + 1 - KEEP
      this.share = norms[0] / norms[norms.length - 1] || 0
      const log = Math.log10(Math.max(this.share, 1e-300))
      this.log = model.steps === 1 ? log : 0.8 * this.log + 0.2 * log
      this.norms = norms
      if (!(loss < DIVERGED)) this.state = 'diverged'
      this.note('opened', this.log > Math.log10(OPEN))
      const settled = model.steps >= 20  // before, the smoothed error is that of a few sequences
      this.note('moved', settled && this.error() < MOVED)
      this.note('half', settled && this.error() < 0.05)
      if (settled && this.error() < LEARNED) {
        this.note('learned', true)
        this.state = 'learned'
      }
      return loss
    }
    note(event, happened) { if (happened && !(event in this.events)) this.events[event] = this.steps }
  }

  // It is sent {run, settings, cells, rates, clip, on, most}: `settings` for Adder; `most` is
  // the number of steps after which a cell stops. A new number `run` begins anew; with the old one cells may come and
  // go, and the others go on. It answers, after every slice of work, with what each cell has done in it.
  function trainer(port, inPage) {
    const slice = inPage ? 8 : 40
    let now = {run: null, on: false}, learners = new Map(), waiting = false
    const goes = ({state, steps}) => state === 'learning' && steps < (now.most || Infinity)
    const work = () => {
      waiting = false
      if (!now.on) return
      const start = performance.now(), done = new Map([...learners].map(([kind]) => [kind, {losses: [], errors: []}]))
      while (performance.now() - start < slice && [...learners.values()].some(goes))
        for (const [kind, learner] of learners) {
          if (!goes(learner)) continue
          done.get(kind).losses.push(learner.step(now.rates[kind], now.clip))
          done.get(kind).errors.push(learner.error())
        }
      const cells = {}
      for (const [kind, {losses, errors}] of done) {
        const {state, events, norms, share, steps, ways, model} = learners.get(kind)
        cells[kind] = {losses, errors, state, events, norms, share, steps, ways, ...question(model)}
      }
      const going = [...learners.values()].some(goes)
      port.postMessage({run: now.run, cells, ended: !going, seconds: (performance.now() - start) / 1000})
      if (going) later()
    }
    const later = () => {
      if (waiting) return
      waiting = true
      setTimeout(work, inPage ? slice : 0)  // in the page, half of the time is the reader's
    }
    port.onmessage = ({data}) => {
      if (data.run !== now.run) learners = new Map()
      now = data
      for (const kind of [...learners.keys()]) if (!now.cells.includes(kind)) learners.delete(kind)
      for (const kind of now.cells)
        if (!learners.has(kind)) learners.set(kind, new RTX.Learner({...now.settings, kind}))
      if (now.on) later()
    }
  }
  // The first sequence of the last batch: the two marked numbers, and the answer
  function question({length, batch, x, y}) {
    const asked = []
    for (let t = 0; t < length; t++) if (x.v[2 * t * batch + 1]) asked.push(x.v[2 * t * batch])
    return {asked, answer: y ? y.v[0] : null}
  }
  const TRAINER = ['engine', 'random', 'scan', 'cells', 'adding', 'trainer']  // the parts that the worker needs
  Object.assign(RTX, {TRAINER, RATES, BASELINE, Learner, trainer, question})
})
