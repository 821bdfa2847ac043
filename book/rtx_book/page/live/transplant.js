// A reader of letters whose memory can be taken out, cut, and put to another text: a stack of RTX.BitReader whose layers
// are cells, the delta rule or attention.
RTX.part('transplant', (RTX) => {
  const {BitReader} = RTX
  const side = (S) => Math.sqrt(S.length), largest = (values) => values.indexOf(Math.max(...values))

  // What each kind of memory is made of: a strip of units, the rows of a matrix, or a card for each letter. parts: of all
  // layers, each {name, values}; without(layer's memory, off): what is left without the parts for which off(i) holds.
  const KINDS = {
    unit: {
      parts: (layers) => layers.flatMap(([{h}], l) => Array.from(h, (v, j) => ({name: `unit ${j + 1} of layer ${l + 1}`, values: [v]}))),
      without: ([{h}], off) => [{h: h.map((v, j) => off(j) ? 0 : v)}],
    },
    row: {
      parts: (layers) => layers.flatMap(({S}, l) => Array.from({length: side(S)}, (_, i) =>
        ({name: `row ${i + 1} of matrix ${l + 1}`, values: S.subarray(i * side(S), (i + 1) * side(S))}))),
      without: ({S}, off) => ({S: S.map((v, p) => off(Math.floor(p / side(S))) ? 0 : v)}),
    },
    card: {
      parts: ([{k}]) => k.map((_, s) => ({name: `card ${s + 1}`, values: [0]})),
      without: ({k, v, at}, off) => ({k: k.filter((_, s) => !off(s)), v: v.filter((_, s) => !off(s)), at}),
    },
  }

  class Writer {
    // settings: what RTX.BitReader is told, such as heads
    constructor(weights, signs, settings) {
      const reader = new BitReader(weights, settings), own = reader.mixers[0].state
      Object.assign(this, {reader, signs, ids: new Map([...signs].map((c, i) => [c, i])), layers: reader.mixers.length, seen: {}})
      this.kind = Array.isArray(own) ? 'unit' : own.S ? 'row' : 'card'
      this.blank = {state: reader.state}
    }
    // Reads a letter from where a step ended: {state, logits, layers}
    next({state}, letter) {
      this.reader.state = state
      const {logits, layers} = this.reader.read(this.ids.get(letter))
      return {state: this.reader.state, logits, layers}
    }
    // The steps of a text, the first before any letter. Of the text last read under this name nothing is read again.
    read(name, text) {
      const old = this.seen[name] ?? {text: '', steps: [this.blank]}, steps = old.steps.slice(0, 1)
      for (let i = 0; i < text.length; i++)
        steps.push(old.text.startsWith(text.slice(0, i + 1)) ? old.steps[i + 1] : this.next(steps[i], text[i]))
      this.seen[name] = {text, steps}
      return steps
    }
    parts({state}) { return KINDS[this.kind].parts(state.slice(0, this.layers)) }
    // The step without some of the parts, a Set of their places; a card is cut in all layers
    cut(step, off) {
      const each = this.kind === 'card' ? 0 : this.parts(step).length / this.layers
      const {without} = KINDS[this.kind], own = (s, l) => without(s, (i) => off.has(l * each + i))
      return off.size ? {state: step.state.map((s, l) => l < this.layers ? own(s, l) : s)} : step
    }
    // What it goes on to write, always the likeliest letter; nothing where no letter was read
    write(step, length) {
      let text = ''
      for (; step.logits && text.length < length; step = this.next(step, text.at(-1))) text += this.signs[largest(step.logits)]
      return text
    }
  }
  RTX.Writer = Writer
})
