// A text read by a model, one character at a time: what each cost, and what is expected next.
RTX.part('reading', (RTX) => {
  const {affine, row, softmax, tree, Recurrent, CharGPT, CharXL} = RTX

  // Characters as they are shown and as they are said, and a probability
  const SHOWN = {' ': '␣', '\n': '⏎', '\t': '⇥'}, NAMED = {' ': 'space', '\n': 'new line', '\t': 'tab'}
  const shown = (c) => SHOWN[c] || c, named = (c) => NAMED[c] || `“${c}”`
  const percent = (p) => p >= 0.0995 ? `${Math.round(100 * p)} %` : `${(100 * p).toFixed(1)} %`

  // rtx_lib.layers.Readout of an LSTM (or an RNN or a GRU) on ids, with a table of them or straight into the core
  class CharRecurrent {
    constructor(weights) {
      this.w = tree(weights)
      this.core = new Recurrent(weights, {prefix: 'core.'})
    }
    reset() { this.core.reset() }
    read(id) {
      const {embedding, linear} = this.w
      const x = embedding ? row(embedding.weight, id) : Float64Array.from({length: linear.weight.r}, (_, j) => +(j === id))
      return {logits: affine(linear.weight, this.core.read(x).h, linear.bias)}
    }
  }

  // The model that these weights are of; settings as its constructor takes them
  function character(weights, settings = {}) {
    if ('core.weight_hh_l0' in weights) return new CharRecurrent(weights)
    if ('blocks.0.local_rnns.0.weight_hh_l0' in weights) return new RTX.RTransformer(weights, settings)
    return 'stack.blocks.0.norms.0.weight' in weights ? new CharGPT(weights, settings) : new CharXL(weights, settings)
  }

  // What ids cost in bits: the first nothing, as nobody expected it
  const bitsOf = (p, id) => -Math.log2(p[id])

  // The mean of the bits that `counts(i)` names, all by default; null where there are none
  function mean(bits, counts = () => true) {
    const all = bits.filter((value, i) => value !== null && counts(i))
    return all.length ? all.reduce((a, b) => a + b, 0) / all.length : null
  }

  class Reading {
    constructor(model, characters) {
      this.model = model
      this.characters = [...characters]
      this.ids = new Map(this.characters.map((c, i) => [c, i]))
      this.forget()
    }
    // As if nothing had been read; rows[i]: {c, bits, p (of what comes next), logits, attention} at character i
    forget() {
      this.rows = []
      this.model.reset()
    }
    known(text) { return [...text].filter((c) => this.ids.has(c)).join('') }
    // Forgets everything where the text differs in what was read; how many characters are then left to read
    begin(text) {
      this.text = [...this.known(text)]
      if (this.rows.length > this.text.length || this.rows.some(({c}, i) => c !== this.text[i])) this.forget()
      return this.text.length - this.rows.length
    }
    // Reads one character; whether there are more
    step() {
      const i = this.rows.length, c = this.text[i]
      if (c === undefined) return false
      const id = this.ids.get(c), {logits, attention} = this.model.read(id)
      const looks = attention?.map((heads) => heads.map((p) => Float32Array.from(p)))  // half the room
      this.rows.push({c, bits: i ? bitsOf(this.rows[i - 1].p, id) : null, p: softmax(logits), logits, attention: looks})
      return i + 1 < this.text.length
    }
    bits(counts) { return mean(this.rows.map(({bits}) => bits), counts) }
  }

  const TIMED = 24  // turns
  // Models that read the same ids in turns of a few characters each, so that whatever else the machine does meets all
  // of them alike; several times, as the first is slow in every browser. step() makes the turn of one, so that a slice is
  // short, and says whether there are more. runs: of each model {bits, time}: bits[i], what ids[i] cost, null for the first; and the
  // milliseconds for a character, the least of the turns in the second half of the text, where a memory is fullest.
  class Comparison {
    constructor(models, ids, turn) {
      const late = Math.max(1, ids.length / turn / 2)  // turns in the second half
      Object.assign(this, {models, ids, turn, at: 0, round: 0, next: 0, rounds: Math.min(9, 1 + Math.ceil(TIMED / late))})
      this.runs = Object.fromEntries(Object.keys(models).map((name) => [name, {bits: [null], time: Infinity}]))
    }
    step() {
      const part = this.ids.slice(this.at, this.at + this.turn), late = 2 * (this.at + part.length) > this.ids.length
      const names = Object.keys(this.models), name = names[this.next], model = this.models[name], run = this.runs[name]
      if (!this.at) model.reset()
      const began = performance.now(), read = part.map((id) => model.read(id).logits)
      if (this.round && late) run.time = Math.min(run.time, (performance.now() - began) / part.length)
      if (!this.round) read.forEach((logits, i) => {
        const next = this.ids[this.at + i + 1]
        if (next !== undefined) run.bits.push(bitsOf(softmax(logits), next))
      })
      this.next = (this.next + 1) % names.length
      if (this.next) return true
      this.at += part.length
      if (this.at < this.ids.length) return true
      this.at = 0
      return ++this.round < this.rounds
    }
  }

  // Calls step until it says false, in slices that leave the page to the reader; then done. Returns a function that
  // ends it.
  function slices(step, done, slice = 12) {
    let ended = false
    const work = () => {
      const until = performance.now() + slice
      while (!ended) {
        if (!step()) { ended = true; done(); return }
        if (performance.now() > until) { setTimeout(work); return }
      }
    }
    work()
    return () => { ended = true }
  }
  Object.assign(RTX, {shown, named, percent, CharRecurrent, character, mean, Reading, Comparison, slices})
})
