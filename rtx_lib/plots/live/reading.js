// A text read by a model, one character at a time: what each cost, and what is expected next.
RTX.part('reading', (RTX) => {
  const {affine, row, softmax, tree, Recurrent, CharGPT, CharXL} = RTX

  // rtx_lib.layers.Readout of an LSTM (or an RNN or a GRU) on a table of ids
  class CharRecurrent {
    constructor(weights) {
      this.w = tree(weights)
      this.core = new Recurrent(weights, {prefix: 'core.'})
    }
    reset() { this.core.reset() }
    read(id) {
      const {embedding, linear} = this.w
      return {logits: affine(linear.weight, this.core.read(row(embedding.weight, id)).h, linear.bias)}
    }
  }

  // The model that these weights are of; settings as its constructor takes them
  function character(weights, settings = {}) {
    if ('core.weight_hh_l0' in weights) return new CharRecurrent(weights)
    return 'stack.blocks.0.norms.0.weight' in weights ? new CharGPT(weights, settings) : new CharXL(weights, settings)
  }

  // What ids cost in bits: the first nothing, as nobody expected it
  const bitsOf = (p, id) => -Math.log2(p[id])

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
    // The mean bits of the characters that `counts(i)` names
    bits(counts = () => true) {
      const all = this.rows.map(({bits}) => bits).filter((value, i) => i && counts(i))
      return all.length ? all.reduce((a, b) => a + b, 0) / all.length : null
    }
  }

  // Models that read the same ids in turns of a few characters each, so that whatever else the machine does meets all
  // of them alike. step() makes one turn of each and says whether there are more; result: {bits, time} of each, both
  // for a character, time in milliseconds.
  class Comparison {
    constructor(models, ids, turn = 16) {
      Object.assign(this, {models, ids, turn, at: 0, p: {}, spent: {}, cost: {}})
      for (const [name, model] of Object.entries(models)) {
        model.reset()
        this.spent[name] = this.cost[name] = 0
      }
    }
    step() {
      const part = this.ids.slice(this.at, this.at + this.turn)
      for (const [name, model] of Object.entries(this.models)) {
        const began = performance.now(), read = part.map((id) => model.read(id).logits)
        this.spent[name] += performance.now() - began
        part.forEach((id, i) => {
          if (this.p[name]) this.cost[name] += bitsOf(this.p[name], id)
          this.p[name] = softmax(read[i])
        })
      }
      this.at += part.length
      return this.at < this.ids.length
    }
    get result() {
      const n = this.at
      return Object.fromEntries(Object.keys(this.models).map((name) =>
        [name, {bits: this.cost[name] / Math.max(1, n - 1), time: this.spent[name] / Math.max(1, n)}]))
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
  Object.assign(RTX, {CharRecurrent, character, Reading, Comparison, slices})
})
