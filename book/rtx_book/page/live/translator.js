// rtx_lib.models.Seq2Seq, trained: two GRUs read the source, a third one writes, through one vector or with attention.
RTX.part('translator', (RTX) => {
  const {affine, row, softmax, tanh, sigmoid, tree} = RTX
  const joined = (...parts) => {
    const all = new Float64Array(parts.reduce((n, part) => n + part.length, 0))
    parts.reduce((at, part) => { all.set(part, at); return at + part.length }, 0)
    return all
  }
  // torch's GRU: blocks r, z, n below each other; z keeps the old state
  function gru(w, x, h) {
    const H = h.length, a = affine(w.weight_ih_l0, x, w.bias_ih_l0), u = affine(w.weight_hh_l0, h, w.bias_hh_l0)
    return h.map((old, j) => {
      const r = sigmoid(a[j] + u[j]), z = sigmoid(a[H + j] + u[H + j]), n = tanh(a[2 * H + j] + r * u[2 * H + j])
      return n + z * (old - n)
    })
  }
  // Scores of all keys for the decoder's state s: v . tanh(W s + U h_j), or (W s) . (U h_j) / sqrt(H)
  const SCORES = {
    additive(w, s, keys) {
      const q = affine(w.query.weight, s), v = w.score.weight.v
      return keys.map((key) => key.reduce((sum, k, i) => sum + v[i] * tanh(q[i] + k), 0))
    },
    dot(w, s, keys) {
      const q = affine(w.query.weight, s), scale = 1 / Math.sqrt(q.length)
      return keys.map((key) => scale * key.reduce((sum, k, i) => sum + q[i] * k, 0))
    },
  }

  class Translator {
    // weights: {name: Matrix} with torch's names; the kind of attention is read from them
    constructor(weights) {
      this.w = tree(weights)
      this.hidden = this.w.first.weight.c
      this.kind = this.w.attention ? this.w.attention.score ? 'additive' : 'dot' : null
    }
    // The state before the first symbol, from the ids of the words, without padding
    encode(ids) {
      const {w} = this, x = ids.map((id) => row(w.source_embedding.weight, id)), forward = [], backward = []
      let h = new Float64Array(this.hidden)
      for (const e of x) forward.push(h = gru(w.forward_encoder, e, h))
      h = new Float64Array(this.hidden)
      for (const e of [...x].reverse()) backward.unshift(h = gru(w.backward_encoder, e, h))
      const s = affine(w.first.weight, backward[0]).map(tanh)
      if (!this.kind) return {s, c: joined(forward[forward.length - 1], backward[0])}
      const notes = x.map((_, j) => joined(forward[j], backward[j]))
      return {s, notes, keys: notes.map((note) => affine(w.attention.key.weight, note))}
    }
    // One symbol further: the state after it, the logits of the next one, and the weights a over the words, or null.
    step({s, c, notes, keys}, symbol) {
      const {w} = this, e = row(w.target_embedding.weight, symbol)
      let a = null
      if (this.kind) {
        a = softmax(Float64Array.from(SCORES[this.kind](w.attention, s, keys)))
        c = new Float64Array(2 * this.hidden)
        a.forEach((share, j) => notes[j].forEach((value, i) => { c[i] += share * value }))
      }
      s = gru(w.decoder, joined(e, c), s)
      return {state: {s, c, notes, keys}, logits: affine(w.readout.weight, joined(s, c, e), w.readout.bias), a}
    }
    // The logits and weights at every step where `target` is read, whatever was predicted
    read(source, target) {
      let state = this.encode(source)
      return target.map((symbol) => {
        const out = this.step(state, symbol)
        state = out.state
        return {logits: out.logits, a: out.a}
      })
    }
    // Greedy writing: {symbol, p, a} for each symbol, p how probable it was, until the end or `most`
    write(source, {start = 1, end = 2, most = 60} = {}) {
      const out = []
      let state = this.encode(source), symbol = start
      while (out.length < most && !(out.length && symbol === end)) {
        const next = this.step(state, symbol), p = softmax(next.logits)
        state = next.state
        symbol = p.reduce((best, share, i) => share > p[best] ? i : best, 0)
        out.push({symbol, p: p[symbol], a: next.a})
      }
      return out
    }
  }

  // Numbers in English words, as rtx_lib.tasks.NumberWords has them: no "and", no hyphen.
  const ONES = ('zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen '
    + 'seventeen eighteen nineteen').split(' ')
  const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')
  const say = (n) => n >= 100 ? [ONES[Math.floor(n / 100)], 'hundred', ...(n % 100 ? say(n % 100) : [])]
    : n >= 20 ? [TENS[Math.floor(n / 10) - 2], ...(n % 10 ? say(n % 10) : [])] : [ONES[n]]
  const KNOWN = new Map(Array.from({length: 1000}, (_, n) => [say(n).join(' '), n]))
  // What a reader typed, as words: small letters, a comma a word of its own, no hyphens
  const words = (text) => text.toLowerCase().replace(/,/g, ' , ').replace(/-/g, ' ').split(/\s+/).filter(Boolean)
  // The numbers that such words say, or null where a part between commas is no number below 1,000
  function numbers(list) {
    const found = list.join(' ').split(',').map((part) => KNOWN.get(part.trim()))
    return found.includes(undefined) ? null : found
  }
  Object.assign(RTX, {Translator, sayNumber: (n) => say(n).join(' '), numberWords: words, numbersIn: numbers})
})
