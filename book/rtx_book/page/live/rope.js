// A word, noise, "go": what a model writes then, letter by letter. Only what changed is read anew, in short slices.
RTX.part('rope', (RTX) => {
  const LETTERS = 'abcdefghijklmnopqrstuvwxyz', GO = 34, EVERY = 10  // steps of noise between two states that are kept
  const MOST = {word: 24, pause: 500}

  // The letters of a text that count, as ids, and how many of its signs do not; a text may be very long
  function lettersOf(text) {
    const signs = [...text.slice(0, 20000)].filter((sign) => sign.trim()), all = signs.map((sign) => LETTERS.indexOf(sign.toLowerCase()))
    const word = all.filter((id) => id >= 0)
    return {word: word.slice(0, MOST.word), foreign: all.length - word.length, over: word.length > MOST.word}
  }
  const largest = (values) => values.reduce((best, v, i) => v > values[best] ? i : best, 0)
  // How many numbers a state holds
  const numbers = (state) => ArrayBuffer.isView(state) ? state.length : Object.values(state).reduce((sum, own) => sum + numbers(own), 0)

  class RopeLane {
    constructor(reader, noise) { Object.assign(this, {reader, noise, word: null, kept: []}) }
    // A generator that rests after every symbol. wanted: {word, pause}; the pause may grow or shrink meanwhile. At the
    // end: the letter it says at each place, when it is told the right ones before, and the bytes it held at "go"
    * write(wanted) {
      const {reader, noise} = this, {word} = wanted
      if (this.word !== word) {
        reader.reset()
        for (const id of word) { reader.read(id); yield }
        Object.assign(this, {word, kept: [reader.state]})
      }
      let at = Infinity
      while (at !== wanted.pause) {
        if (at > wanted.pause) {
          const last = Math.min(this.kept.length - 1, Math.floor(wanted.pause / EVERY))
          reader.state = this.kept[last]
          at = last * EVERY
        }
        if (at < wanted.pause) {
          reader.read(noise[at++])
          if (at === this.kept.length * EVERY) this.kept.push(reader.state)
          yield
        }
      }
      const said = []
      let {logits} = reader.read(GO)
      const bytes = 4 * numbers(reader.state)
      for (const id of word) {
        said.push(largest(logits))
        yield
        if (said.length < word.length) ({logits} = reader.read(id))
      }
      return {said, bytes, pause: at, word}
    }
  }
  const letter = (id) => LETTERS[id] ?? '·'
  Object.assign(RTX, {lettersOf, RopeLane, ropeLetter: letter, ropeMost: MOST})
})
