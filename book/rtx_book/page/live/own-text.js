// A reader's text, and a GRU that learns to name its next character: rtx_lib.tasks.TextTask at the level of characters, and
// Readout(GRU(V, H), task) with torch's names. No DOM: it also runs in a worker.
RTX.part('own-text', (RTX) => {
  const {CELLS, stacked, uniform, matrix} = RTX, {exp, log, LN2} = Math
  const LENGTH = 48, HIDDEN = 64, BATCH = 16, HELD = 0.1, READ = 4096  // held out: the last tenth, of which so much is read
  const LEAST = 600, MOST = 500000, KINDS = 1500  // characters; and different ones
  const RATE = 0.01, CLIP = 1, SLICE = 40, SAY = 1000  // milliseconds

  // The text as TextTask reads it: its characters sorted by their numbers, and the number of each in this order
  function textOf(raw) {
    const all = [...raw.slice(0, 2 * MOST).replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')], characters = all.slice(0, MOST)
    const symbols = [...new Set(characters)].sort((a, b) => a.codePointAt(0) - b.codePointAt(0))
    const number = new Map(symbols.map((c, i) => [c, i])), cut = all.length > MOST || raw.length > 2 * MOST
    const n = characters.length, several = symbols.length.toLocaleString('en'), many = n.toLocaleString('en')
    let fault = ''
    if (!n) fault = 'There is no text: paste one of some pages, in any language.'
    else if (n < LEAST) fault = `${many} characters are too few: a tenth is held out, so give it ${LEAST} or more.`
    else if (symbols.length > KINDS) fault = `${several} different characters are too many to learn here: up to ${KINDS} are read.`
    const first = cut ? 'The first ' : ''
    return {ids: Uint16Array.from(characters, (c) => number.get(c)), symbols, fault,
      told: `${first}${many} characters, ${several} different ones; the last tenth is held out.`}
  }
  const parts = (ids) => {
    const end = Math.floor(ids.length * (1 - HELD))
    return [ids.subarray(0, end), ids.subarray(end)]
  }
  // Bits a character of what is held out, by who has counted how often each character follows each, and one pair more for
  // every two characters
  function countedBits(ids, V) {
    const [seen, held] = parts(ids), pairs = new Map(), before = new Float64Array(V)
    for (let i = 1; i < seen.length; i++) {
      const pair = seen[i - 1] * V + seen[i]
      pairs.set(pair, (pairs.get(pair) || 0) + 1)
      before[seen[i - 1]]++
    }
    let bits = 0
    for (let i = 1; i < held.length; i++)
      bits -= Math.log2(((pairs.get(held[i - 1] * V + held[i]) || 0) + 1) / (before[held[i - 1]] + V))
    return bits / (held.length - 1)
  }

  // W[:, id] + b of every id, (n, rows of W): what a product with one-hot rows gives
  function columns(tape, W, b, ids) {
    const n = ids.length, o = W.r, y = tape.take(n, o)
    for (let i = 0, m = 0; i < n; i++) for (let j = 0, p = ids[i]; j < o; j++, m++, p += W.c) y.v[m] = W.v[p] + b.v[j]
    tape.way(() => {
      for (let i = 0, m = 0; i < n; i++) for (let j = 0, p = ids[i]; j < o; j++, m++, p += W.c) {
        W.g[p] += y.g[m]
        b.g[j] += y.g[m]
      }
    })
    return y
  }
  // The mean cross-entropy of the rows of z in nats
  function crossEntropy(tape, z, targets) {
    const {r: n, c: V} = z, p = tape.take(n, V).v
    let loss = 0
    for (let i = 0; i < n; i++) {
      const at = i * V
      let top = -Infinity, sum = 0
      for (let j = at; j < at + V; j++) if (z.v[j] > top) top = z.v[j]
      for (let j = at; j < at + V; j++) sum += p[j] = exp(z.v[j] - top)
      for (let j = at; j < at + V; j++) p[j] /= sum
      loss += (log(sum) + top - z.v[at + targets[i]]) / n
    }
    tape.way(() => {
      for (let m = 0; m < n * V; m++) z.g[m] += p[m] / n
      for (let i = 0; i < n; i++) z.g[i * V + targets[i]] -= 1 / n
    })
    return loss
  }

  class TextLearner {
    constructor({ids, vocabulary, seed = 0, hidden = HIDDEN}) {
      const chance = RTX.random(2 * seed), bound = 1 / Math.sqrt(hidden), [seen, held] = parts(ids)
      Object.assign(this, {seen, held, vocabulary, steps: 0, chance: RTX.random(2 * seed + 1), tape: new RTX.Tape()})
      this.core = CELLS.gru.weights(vocabulary, hidden, chance, {scale: 1})
      this.linear = {weight: uniform(vocabulary, hidden, bound, chance), bias: uniform(1, vocabulary, bound, chance)}
      this.adam = new RTX.Adam(Object.values(this.named()))
      this.zero = matrix(BATCH, hidden)
    }
    // {'core.weight_ih_l0': Matrix, ..., 'linear.bias': Matrix}
    named() {
      const core = Object.entries(this.core).map(([name, p]) => [`core.${name}_l0`, p])
      return Object.fromEntries([...core, ...Object.entries(this.linear).map(([name, p]) => [`linear.${name}`, p])])
    }
    // The loss of B windows of a part of the text, which begin there; the steps lie below each other
    loss(ids, begins, length = LENGTH) {
      const {tape, core, linear} = this, B = begins.length, at = (shift) =>
        Uint16Array.from({length: length * B}, (_, m) => ids[begins[m % B] + Math.floor(m / B) + shift])
      const z = columns(tape, core.weight_ih, core.bias_ih, at(0)), states = []
      let state = {h: tape.take(B, core.weight_hh.c)}
      for (let from = 0; from < length * B; from += B) {
        state = CELLS.gru.step(tape, core, tape.rows(z, from, from + B), state)
        states.push(state)
      }
      return crossEntropy(tape, tape.linear(stacked(tape, states), linear.weight, linear.bias), at(1))
    }
    train() {
      const {tape, adam, seen, chance} = this
      tape.start()
      const loss = this.loss(seen, Array.from({length: BATCH}, () => chance.below(seen.length - LENGTH)))
      adam.zero()
      tape.backward()
      adam.step(RATE, CLIP)
      this.steps++
      return loss / LN2
    }
    // Bits a character of what is held out, in windows from its beginning on
    test() {
      const length = Math.min(LENGTH, this.held.length - 1), count = Math.floor(Math.min(READ, this.held.length - 1) / length)
      this.tape.start(false)
      return this.loss(this.held, Array.from({length: count}, (_, i) => i * length), length) / LN2
    }
    weights() { return Object.fromEntries(Object.entries(this.named()).map(([name, {r, c, v}]) => [name, {r, c, v: v.slice()}])) }
  }

  // It is sent {run, on, ids, vocabulary, seed}; a new number `run` begins anew. After every slice of work it answers
  // {run, steps, bits, seconds}, and about once a second, and when it is stopped, with `held` and `weights` besides.
  function ownTrainer(port, inPage) {
    const slice = inPage ? 8 : SLICE
    let now = {run: null, on: false}, learner = null, waiting = false, said = 0
    function say(bits, seconds, whole) {
      const news = {run: now.run, steps: learner.steps, bits, seconds}
      if (whole) Object.assign(news, {held: learner.test(), weights: learner.weights()})
      if (whole) said = performance.now()
      port.postMessage(news)
    }
    const work = () => {
      waiting = false
      if (!now.on) return
      const begun = performance.now(), bits = []
      do bits.push(learner.train()); while (performance.now() - begun < slice)
      say(bits, (performance.now() - begun) / 1000, performance.now() - said > SAY)
      later()
    }
    const later = () => {
      if (waiting) return
      waiting = true
      setTimeout(work, inPage ? slice : 0)
    }
    port.onmessage = ({data}) => {
      if (data.run !== now.run) learner = new RTX.TextLearner(data)
      now = {run: data.run, on: data.on}
      if (now.on) later()
      else say([], 0, true)
    }
  }
  const OWN = ['engine', 'random', 'cells', 'own-text']  // the parts that the worker needs
  Object.assign(RTX, {textOf, countedBits, TextLearner, ownTrainer, OWN, ownLength: LENGTH, ownMost: MOST})
})
