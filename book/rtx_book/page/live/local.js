// LocalRNN and the R-Transformer, one position at a time, and the six rearrangements that the chapter asks about.
RTX.part('local', (RTX) => {
  const {affine, row, tree, Recurrent} = RTX, {selfAttention, feedForward, before, behind, layerNorm} = RTX.layers

  // rtx_lib.models.r_transformer.LocalRNN: a recurrent network run over the last `window` inputs of every position, from
  // the zero state; zeros stand before the first input. Its weights fit every window.
  class LocalRNN {
    constructor(weights, {window, prefix = ''}) {
      this.cell = new Recurrent(weights, {prefix})
      this.window = window
      this.zeros = new Float64Array(this.cell.layers[0].weight_ih.c)
    }
    // The states after each input of the window that ends at position t of the inputs x, the last of them the output
    states(x, t) {
      this.cell.reset()
      return Array.from({length: this.window}, (_, j) => this.cell.read(x[t - this.window + 1 + j] || this.zeros).h)
    }
    output(x, t) { return this.states(x, t)[this.window - 1] }
  }

  // rtx_lib.layers.Readout of a LocalRNN on a table of ids
  class WindowReader {
    constructor(weights, {window}) {
      this.w = tree(weights)
      this.local = new LocalRNN(weights, {window, prefix: 'core.'})
    }
    get window() { return this.local.window }
    set window(window) { this.local.window = window }
    // For position t of the ids: the state after each input of its window, and the logits after each
    read(ids, t) {
      const {embedding, linear} = this.w, x = ids.map((id) => row(embedding.weight, id)), states = this.local.states(x, t)
      return {states, logits: states.map((h) => affine(linear.weight, h, linear.bias))}
    }
  }

  // rtx_lib.models.r_transformer.RTransformer without positions. The keys and values of a position never change: they
  // are kept, and of a LocalRNN all its inputs, so that the window may be moved while it reads.
  class RTransformer {
    constructor(weights, {heads, window, norm = 'pre'}) {
      this.w = tree(weights)
      this.blocks = Object.values(this.w.blocks)
      this.width = this.blocks[0].block.norms[0].weight.c
      this.heads = heads
      this.around = norm === 'pre' ? before : behind
      this.locals = this.blocks.map((block, l) => Object.keys(block.local_rnns).map((n) =>
        new LocalRNN(weights, {window, prefix: `blocks.${l}.local_rnns.${n}.`})))
      this.reset()
    }
    get window() { return this.locals[0][0].window }
    set window(window) { for (const own of this.locals) for (const local of own) local.window = window }
    reset() { this.kept = this.locals.map((own) => ({inputs: own.map(() => []), k: [], v: []})) }
    embed(x) {
      const {weight, bias} = this.w.embedding
      return bias ? affine(weight, x, bias) : row(weight, x).map((value) => value * Math.sqrt(this.width))
    }
    // x: an id, or a vector of floats. The logits of what comes after it, and attention[layer][head]
    read(x) {
      const {w, kept, around} = this, attention = []
      let h = this.embed(x)
      this.blocks.forEach((block, l) => {
        this.locals[l].forEach((local, n) => {
          h = around(h, block.local_norms[n], (input) => {
            const inputs = kept[l].inputs[n]
            return local.output(inputs, inputs.push(input) - 1)
          })
        })
        h = around(h, block.block.norms[0], (input) => {
          const {y, weights} = selfAttention(block.block.self_attention, input, kept[l], this.heads)
          attention.push(weights)
          return y
        })
        h = around(h, block.block.norms[1], (input) => feedForward(block.block.feed_forward, input, (v) => Math.max(0, v)))
      })
      if (w.norm) h = layerNorm(h, w.norm)
      return {logits: affine((w.readout?.weight || w.embedding.weight), h, w.readout?.bias), attention}
    }
  }

  // The six ways to rearrange three things, A to F, in the order of rtx_lib.tasks.WindowOrder; AFTER[p][q]: p, then q
  const PERMUTATIONS = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
  const place = (p) => PERMUTATIONS.findIndex((one) => one.every((v, i) => v === p[i]))
  const AFTER = PERMUTATIONS.map((p) => PERMUTATIONS.map((q) => place(p.map((i) => q[i]))))
  // What the symbols of the window that ends at t make together
  const together = (ids, t, window) =>
    ids.slice(Math.max(0, t - window + 1), t + 1).reduce((state, id) => AFTER[state][id], 0)

  Object.assign(RTX, {LocalRNN, WindowReader, RTransformer, together})
})
