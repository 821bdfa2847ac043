// Shannon's game (C. E. Shannon, Prediction and Entropy of Printed English, 1951): the next letter of a hidden text is
// guessed until it is right. What the numbers of guesses say about the bits of a letter, and a model that plays along.
RTX.part('guessing', (RTX) => {
  // Shares q_1, q_2, ... of the letters that took 1, 2, ... guesses, from counts[i - 1], their numbers
  const shares = (counts) => {
    const all = counts.reduce((a, b) => a + b, 0)
    return counts.map((count) => count / all)
  }
  // Shannon's bounds (his equation 17) on the bits of a letter, given what was read before it:
  //   sum_i i (q_i - q_{i+1}) log2 i  <=  bits  <=  -sum_i q_i log2 q_i
  // The upper one holds for every guesser: who has the text's beginning and the numbers has the text. The lower one is of
  // a guesser who always names what is likeliest, whose q fall; few letters make shares that do not, so they are sorted.
  function bounds(counts) {
    const q = shares(counts), falling = [...q].sort((a, b) => b - a)
    return {
      lower: falling.reduce((sum, own, k) => sum + (k + 1) * (own - (falling[k + 1] || 0)) * Math.log2(k + 1), 0),
      upper: RTX.entropy(q),
    }
  }
  // Letters with their capitals are one symbol of the game, every other character is one of its own
  const fold = (c) => c.toLowerCase()
  class Symbols {
    constructor(characters) {
      this.names = [...new Set([...characters].map(fold))]
      const place = new Map(this.names.map((name, k) => [name, k]))
      this.of = [...characters].map((c) => place.get(fold(c)))
    }
    // Probabilities of the symbols from those of the characters
    merge(p) {
      const out = new Float64Array(this.names.length)
      p.forEach((own, id) => { out[this.of[id]] += own })
      return out
    }
  }
  // The place of symbol k, from 1, where the probable come first; of equal ones the first
  const rank = (p, k) => 1 + p.reduce((before, own, j) => before + (own > p[k] || (own === p[k] && j < k)), 0)
  Object.assign(RTX, {shannonBounds: bounds, fold, Symbols, rank})
})
