// rtx_lib.models.Captioner, trained: convolutions look at a picture, and an LSTM writes about it, told once, at every
// word, or by attention over the picture's cells. And the scenes of rtx_lib.tasks.Scenes with their captions.
RTX.part('captioner', (RTX) => {
  const {affine, row, softmax, tanh, tree, Recurrent} = RTX

  // torch's Conv2d of x (inputs x side x side), zeros around it, then max(0, .); W has one row per row of a kernel
  function convolve({weight, bias}, x, side, stride) {
    const k = weight.c, outputs = bias.v.length, inputs = x.length / side ** 2, edge = (k - 1) / 2, w = weight.v
    const wide = Math.ceil(side / stride), y = new Float64Array(outputs * wide * wide)
    for (let o = 0, at = 0; o < outputs; o++) for (let r = 0; r < wide; r++) for (let c = 0; c < wide; c++, at++) {
      const top = r * stride - edge, left = c * stride - edge
      let sum = bias.v[o]
      for (let i = 0; i < inputs; i++) for (let a = Math.max(0, -top); a < Math.min(k, side - top); a++) {
        const from = (i * side + top + a) * side + left, kernel = ((o * inputs + i) * k + a) * k
        for (let b = Math.max(0, -left); b < Math.min(k, side - left); b++) sum += w[kernel + b] * x[from + b]
      }
      y[at] = Math.max(0, sum)
    }
    return {y, wide}
  }

  class Captioner {
    // weights: {name: Matrix} with torch's names; how it is told is read from them
    constructor(weights) {
      this.w = tree(weights)
      this.lstm = new Recurrent(weights, {prefix: 'lstm.'})
      const own = this.w.embedding.weight.c
      this.told = this.w.attention ? 'attention' : this.w.lstm.weight_ih_l0.c === own ? 'first' : 'every'
    }
    read(state, x) {
      this.lstm.reset([state])
      return this.lstm.read(x).layers[0]
    }
    // The state before the first word, from the ink of a picture, row by row
    look(picture) {
      const {w, told} = this, H = this.lstm.hidden
      let x = picture, side = Math.sqrt(picture.length)
      for (const [layer, stride] of [['0', 2], ['2', 2], ['4', 1]])
        ({y: x, wide: side} = convolve(w.convolutions[layer], x, side, stride))
      const cells = side * side, D = x.length / cells, places = w.places.v
      const a = Array.from({length: cells}, (_, i) => Float64Array.from({length: D}, (_, d) => x[d * cells + i] + places[i * D + d]))
      if (told === 'attention') {
        const mean = Float64Array.from({length: D}, (_, d) => a.reduce((sum, cell) => sum + cell[d], 0) / cells)
        const first = affine(w.first.weight, mean, w.first.bias).map(tanh)
        return {h: first.slice(0, H), c: first.slice(H), a, keys: a.map((cell) => affine(w.attention.key.weight, cell))}
      }
      const all = new Float64Array(cells * D), zero = {h: new Float64Array(H), c: new Float64Array(H)}
      a.forEach((cell, i) => all.set(cell, i * D))
      const v = affine(w.vector.weight, all, w.vector.bias)
      return told === 'first' ? this.read(zero, v) : {...zero, v}
    }
    // One word further: the state after it, the logits of the next one, and the weights over the cells, or null
    step(state, word) {
      const {w} = this, {a, keys, v} = state
      let told = v || [], weights = null
      if (a) {
        const query = affine(w.attention.query.weight, state.h), s = w.attention.score.weight.v
        weights = softmax(Float64Array.from(keys, (key) => key.reduce((sum, u, i) => sum + s[i] * tanh(query[i] + u), 0)))
        told = new Float64Array(a[0].length)
        a.forEach((cell, i) => cell.forEach((value, d) => { told[d] += weights[i] * value }))
      }
      const {h, c} = this.read(state, Float64Array.from([...row(w.embedding.weight, word), ...told]))
      return {state: {h, c, a, keys, v}, logits: affine(w.readout.weight, h, w.readout.bias), weights}
    }
    // Greedy writing: {word, p, weights} for each word, p how probable it was, until the end or `most`
    write(picture, {start = 1, end = 2, most = 12} = {}) {
      const out = []
      let state = this.look(picture), word = start
      while (out.length < most && !(out.length && word === end)) {
        const next = this.step(state, word), p = softmax(next.logits)
        state = next.state
        word = p.indexOf(Math.max(...p))
        out.push({word, p: p[word], weights: next.weights})
      }
      return out
    }
  }

  // digits: [{ink: rows of ink in [0, 1], x, y}]: the picture, row by row; what reaches beyond its edge is cut off
  function paint(digits, side) {
    const picture = new Float64Array(side * side)
    for (const {ink, x, y} of digits) ink.forEach((line, r) => line.forEach((value, c) => {
      const inside = y + r >= 0 && y + r < side && x + c >= 0 && x + c < side
      if (inside) picture[(y + r) * side + x + c] = Math.min(1, picture[(y + r) * side + x + c] + value)
    }))
    return picture
  }
  // The caption that the grammar gives the same digits, with `digit` and `size` in words; `clear` by how many pixels
  // the closest decision was made
  function caption(digits) {
    const named = digits.map((one) => ({...one, across: one.x + one.ink.length / 2, down: one.y + one.ink.length / 2}))
    named.sort((a, b) => a.across + a.down - b.across - b.down)
    const words = []
    let clear = Infinity
    named.forEach((one, i) => {
      if (i) {
        const across = one.across - named[i - 1].across, down = one.down - named[i - 1].down
        clear = Math.min(clear, Math.abs(across - down), across + down)
        words.push(across > down ? 'left of' : 'above')
      }
      words.push('a', one.size, one.digit)
    })
    return {words, clear}
  }
  Object.assign(RTX, {Captioner, paintScene: paint, captionScene: caption})
})
