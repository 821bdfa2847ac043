// Numbers by chance, the same for the same seed in every browser.
RTX.part('random', (RTX) => {
  // mulberry32 (Tommy Ettinger, public domain): 32 bits of state, enough for a training that a reader watches
  RTX.random = (seed) => {
    let state = seed >>> 0, spare = null
    const uniform = () => {
      state = (state + 0x6D2B79F5) | 0
      let t = Math.imul(state ^ (state >>> 15), 1 | state)
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
    }
    // N(0, 1) by Box and Muller, two at a time
    const normal = () => {
      if (spare !== null) {
        const z = spare
        spare = null
        return z
      }
      const radius = Math.sqrt(-2 * Math.log(1 - uniform())), angle = 2 * Math.PI * uniform()
      spare = radius * Math.sin(angle)
      return radius * Math.cos(angle)
    }
    return {uniform, normal, below: (n) => Math.floor(uniform() * n)}
  }
})
