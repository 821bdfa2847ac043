// Fool one model and not another: is the number of ones in a row of bits odd? Who says so rightly after every bit, and
// the shortest rows that a reader found after which one model is wrong and the other right.
RTX.part('fool', (RTX) => {
  const {bitsOf, parities, softmax} = RTX
  const MOST = 120

  // After every bit the probability that a model, an RTX.BitReader, gives to the right answer
  function belief(reader, bits) {
    const odd = parities(bits)
    return reader.run(bits).map(({logits}, t) => softmax(logits)[odd[t]])
  }
  // After so many bits the first model is wrong and the second right for the first time; 0 if never
  const firstAlone = (fooled, other) => fooled.findIndex((p, t) => p < 0.5 && other[t] >= 0.5) + 1

  // The shortest rows found, by pair of names; kept in the browser where it lets us, and believed only if they are so
  class Found {
    constructor(readers, store) {
      Object.assign(this, {readers, store, rows: new Map()})
      let kept = {}
      try { kept = JSON.parse(store?.rtxFool ?? '{}') } catch { /* of nobody's */ }
      for (const text of Array.isArray(kept) ? kept.slice(0, 99) : []) {
        const {bits} = typeof text === 'string' ? bitsOf(text, MOST) : {}
        if (bits?.length) this.look(bits, this.believed(bits))
      }
    }
    believed(bits) {
      return Object.fromEntries(Object.entries(this.readers).map(([name, reader]) => [name, belief(reader, bits)]))
    }
    of(fooled, other) { return this.rows.get(`${fooled}\n${other}`) }
    // Takes up a row for all pairs whose first model is wrong at its end, and whose second is not
    look(bits, believed) {
      const names = Object.keys(believed), last = (name) => believed[name].at(-1), text = bits.join('')
      for (const fooled of names) for (const other of names) {
        if (!bits.length || last(fooled) >= 0.5 || last(other) < 0.5) continue
        if ((this.of(fooled, other)?.length ?? Infinity) > bits.length) this.rows.set(`${fooled}\n${other}`, text)
      }
    }
    keep() {
      try { this.store.rtxFool = JSON.stringify([...new Set(this.rows.values())]) } catch { /* kept while the page is open */ }
    }
  }
  // What keeps them from one visit to the next, or nothing
  function store() { try { return localStorage } catch { return null } }
  Object.assign(RTX, {firstAlone, Found, foolStore: store, mostFool: MOST})
})
