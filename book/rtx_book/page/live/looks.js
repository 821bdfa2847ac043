// rtx_lib.layers.SentenceClassifier over Kim's filters, trained: several weighted means of one sentence, and a verdict.
RTX.part('looks', (RTX) => {
  const {affine, row, softmax, tree} = RTX
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0)

  class Looks {
    // weights: {name: Matrix} with torch's names
    constructor(weights) { this.w = tree(weights) }
    // h_t of every word: a filter of k words reads (k - 1) / 2 of them before it, rounded down, and zeros beyond the ends
    states(ids) {
      const {embedding, reader} = this.w, e = ids.map((id) => row(embedding.weight, id)), D = embedding.weight.c
      return e.map((_, t) => Float64Array.from(Object.values(reader.convolutions).flatMap(({weight: {v, c: k}, bias}) =>
        Array.from(bias.v, (b, filter) => {
          let sum = b
          for (let i = 0, at = t - ((k - 1) >> 1); i < k; i++, at++)
            for (let d = 0; e[at] && d < D; d++) sum += v[(filter * D + d) * k + i] * e[at][d]
          return Math.max(0, sum)
        }))))
    }
    // A, the weights of each look over the words, and the logits of the classes
    read(ids) {
      const {pool: {hidden, score}, readout} = this.w, h = this.states(ids)
      const scores = h.map((own) => affine(score.weight, affine(hidden.weight, own).map(Math.tanh)))
      const A = Array.from({length: score.weight.r}, (_, r) => softmax(Float64Array.from(scores, (own) => own[r])))
      const M = A.flatMap((a) => Array.from(h[0], (_, j) => h.reduce((sum, own, t) => sum + a[t] * own[j], 0)))
      return {A, logits: affine(readout.weight, M, readout.bias)}
    }
  }
  // The mean cosine of two rows
  function alike(A) {
    const pairs = A.flatMap((a, i) => A.slice(i + 1).map((b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))))
    return pairs.reduce((sum, cosine) => sum + cosine, 0) / pairs.length
  }
  Object.assign(RTX, {Looks, alike})
})
