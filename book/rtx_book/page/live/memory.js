// rtx_lib.models.MemoryNetwork, trained: a question reads a story sentence by sentence, several times over.
RTX.part('memory', (RTX) => {
  const {softmax} = RTX

  class MemoryNetwork {
    // words: the tables T^1, ..., T^{K+1} below one another, each without the row of no word, time words last. length:
    // words of a sentence at most; memory: sentences of a story at most
    constructor({words}, {vocabulary, length, memory}) {
      const n = vocabulary - 1 + memory, d = words.c
      Object.assign(this, {vocabulary, memory, d, J: length + 1, K: words.r / n - 1})
      this.row = (k, id) => words.v.subarray((k * n + id - 1) * d, (k * n + id) * d)
    }
    // The words' vectors of a table, added up, each component with a slope over the places
    vector(k, ids) {
      const {d, J} = this, sum = new Float64Array(d)
      ids.forEach((id, j) => id && this.row(k, id).forEach((x, c) => {
        sum[c] += x * (1 + 4 * (c + 1 - (d + 1) / 2) * (j + 1 - (J + 1) / 2) / (d * J))
      }))
      return sum
    }
    // story: rows of ids, the oldest first. What each hop reads of each slot, and the logits of all words
    read(story, question) {
      const {J, K, vocabulary: V} = this, hops = []
      const told = story.map((ids, i) => [...ids, ...Array(J - 1 - ids.length).fill(0), V + story.length - 1 - i])
      let u = this.vector(0, question)
      for (let k = 0; k < K; k++) {
        const scores = new Float64Array(this.memory)  // an empty slot keeps the score 0
        told.forEach((ids, i) => { scores[i] = this.vector(k, ids).reduce((s, x, c) => s + x * u[c], 0) })
        const p = softmax(scores), next = u.slice()
        told.forEach((ids, i) => this.vector(k + 1, ids).forEach((x, c) => { next[c] += p[i] * x }))
        hops.push(p)
        u = next
      }
      const logit = (id) => id ? this.row(K, id).reduce((s, x, c) => s + x * u[c], 0) : 0
      return {hops, logits: Float64Array.from({length: V}, (_, id) => logit(id))}
    }
  }
  Object.assign(RTX, {MemoryNetwork})
})
