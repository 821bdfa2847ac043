// From the logits of the next symbol to one symbol: what temperature, top-k and top-p leave of a distribution, a draw
// from it, and a text that grows symbol by symbol and can be taken back.
RTX.part('sampling', (RTX) => {
  const {softmax} = RTX

  // As rtx_lib.layers.sample: first the `top` most probable symbols stay, then the temperature acts, then of the
  // symbols in falling order those go before which the share `topP` is there already; what stays is rescaled.
  // order: all ids, the most probable first; p: by id, what is left; kept: how many, the first of `order`;
  // whole: by id, the probabilities at this temperature before anything is cut.
  function cut(logits, {temperature = 1, top = logits.length, topP = 1} = {}) {
    const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a]), p = new Float64Array(logits.length)
    const left = softmax(order.slice(0, top).map((id) => logits[id]), temperature)
    let sum = 0, kept = 0, share = 0
    for (const own of left) {
      sum += own
      if (sum - own >= topP) break
      kept++
    }
    for (let i = 0; i < kept; i++) share += left[i]
    for (let i = 0; i < kept; i++) p[order[i]] = left[i] / share
    return {order, p, kept, whole: softmax(logits, temperature)}
  }
  // The id on which a number u from [0, 1) falls where the shares lie side by side in this order
  function fall({order, p, kept}, u) {
    let i = 0
    while (i < kept - 1 && (u -= p[order[i]]) >= 0) i++
    return order[i]
  }
  const entropy = (p) => p.reduce((sum, own) => own > 0 ? sum - own * Math.log2(own) : sum, 0)

  // A text read by a model of characters that keeps a state, RTX.CharRecurrent; the states before are kept, so that the
  // last symbol can be taken back at the cost of none. rows[i]: {id, bits, logits of what comes after it}
  class Written {
    constructor(model) {
      Object.assign(this, {model, rows: [], states: []})
      model.reset()
    }
    // Reads on where the symbols begin as what was read, and takes back the rest
    begin(ids) {
      let same = 0
      while (same < this.rows.length && this.rows[same].id === ids[same]) same++
      while (this.rows.length > same) this.back()
      for (const id of ids.slice(same)) this.add(id)
    }
    get logits() { return this.rows.at(-1).logits }
    add(id) {
      const bits = this.rows.length ? -Math.log2(softmax(this.logits)[id]) : null
      this.states.push(this.model.core.state)
      this.rows.push({id, bits, logits: this.model.read(id).logits})
    }
    back() {
      this.rows.pop()
      this.model.core.reset(this.states.pop())
    }
  }
  Object.assign(RTX, {cut, fall, entropy, Written})
})
