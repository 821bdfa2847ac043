// rtx_lib.models.Captioner, trained: convolutions look at a picture, and an LSTM writes about it, told once, at every
// word, or by attention over the picture's cells. And the scenes of rtx_lib.tasks.Scenes with their captions.
RTX.part('captioner', (RTX) => {
  const {affine, gemm, row, softmax, tanh, tree, Recurrent} = RTX

  // max(0, torch's Conv2d) of x (side x side, each with its inputs), zeros around it: a patch a row, times W turned
  function convolve(layer, x, side, stride) {
    const k = layer.weight.c, O = layer.bias.v.length, I = x.length / side ** 2, K = I * k * k, edge = (k - 1) / 2
    const wide = Math.ceil(side / stride), n = wide * wide, patches = new Float64Array(n * K), y = new Float64Array(n * O)
    layer.turned ||= Float64Array.from({length: K * O}, (_, at) => layer.weight.v[(at % O) * K + Math.floor(at / O)])
    for (let cell = 0; cell < n; cell++) {
      const top = Math.floor(cell / wide) * stride - edge, left = (cell % wide) * stride - edge
      y.set(layer.bias.v, cell * O)
      for (let r = Math.max(0, -top); r < Math.min(k, side - top); r++)
        for (let c = Math.max(0, -left); c < Math.min(k, side - left); c++) {
          const from = ((top + r) * side + left + c) * I, to = cell * K + r * k + c
          for (let i = 0; i < I; i++) patches[to + i * k * k] = x[from + i]
        }
    }
    gemm(y, patches, layer.turned, n, K, O)
    return {y: y.map((v) => Math.max(0, v)), wide}
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
      const cells = side * side, D = x.length / cells, all = x.map((v, at) => v + w.places.v[at])
      const a = Array.from({length: cells}, (_, i) => all.subarray(i * D, (i + 1) * D))
      if (told === 'attention') {
        const mean = Float64Array.from({length: D}, (_, d) => a.reduce((sum, cell) => sum + cell[d], 0) / cells)
        const first = affine(w.first.weight, mean, w.first.bias).map(tanh)
        return {h: first.slice(0, H), c: first.slice(H), a, keys: a.map((cell) => affine(w.attention.key.weight, cell))}
      }
      const zero = {h: new Float64Array(H), c: new Float64Array(H)}
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
