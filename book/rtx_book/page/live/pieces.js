// Byte pairs: how rtx_lib.tasks.BytePairs and GPTPieces cut a text, and every merge on the way.
RTX.part('pieces', (RTX) => {
  // GPT-2's words: no piece goes over the end of one.
  const WORDS = RegExp(["'(?:[stmd]|re|ve|ll)", ' ?\\p{L}+', ' ?\\p{N}+', ' ?[^\\p{White_Space}\\p{L}\\p{N}]+',
    '\\p{White_Space}+(?!\\P{White_Space})', '\\p{White_Space}+'].join('|'), 'gu')
  const SPACE = /\p{White_Space}+/u, UTF8 = new TextEncoder()

  // A piece is a text: of bytes a character for each, as Latin-1; else as it is written, with `end` behind a last one.
  class Pieces {
    // alphabet: the smallest pieces by id; merges: two characters each, 256 above the ids of the pair
    constructor({alphabet, merges, end = ''}) {
      Object.assign(this, {end, vocabulary: [...alphabet], ranks: new Map(), merges: [], known: new Map()})
      this.ids = new Map(alphabet.map((piece, id) => [piece, id]))
      for (let i = 0; i < merges.length; i += 2) {
        const [a, b] = [0, 1].map((k) => merges.charCodeAt(i + k) - 256), piece = this.vocabulary[a] + this.vocabulary[b]
        if (!this.ids.has(piece)) this.ids.set(piece, this.vocabulary.push(piece) - 1)
        this.ranks.set(a << 16 | b, this.merges.length)
        this.merges.push({a, b, id: this.ids.get(piece)})
      }
    }
    words(text) {
      return this.end ? text.toLowerCase().split(SPACE).filter(Boolean) : text.match(WORDS) || []
    }
    smallest(word) {
      if (!this.end) return Array.from(UTF8.encode(word), (byte) => this.ids.get(String.fromCharCode(byte)))
      return [...word].map((c, i, all) => this.ids.get(i < all.length - 1 ? c : c + this.end) ?? 0)
    }
    // [{rank, ids}]: the word's smallest pieces, and what it is behind each merge; the first rank is -1
    history(word) {
      if (this.known.has(word)) return this.known.get(word)
      const all = [{rank: -1, ids: this.smallest(word)}]
      for (let ids = all[0].ids; ; ids = all.at(-1).ids) {
        const rank = Math.min(...ids.slice(1).map((b, i) => this.ranks.get(ids[i] << 16 | b) ?? Infinity))
        if (rank === Infinity) break
        all.push({rank, ids: join(ids, this.merges[rank])})
      }
      this.known.set(word, all)
      return all
    }
    encode(text) {
      return this.words(text).flatMap((word) => this.history(word).at(-1).ids)
    }
  }
  function join(ids, {a, b, id}) {
    const out = []
    for (let i = 0; i < ids.length; i++) out.push(ids[i] === a && ids[i + 1] === b ? (i++, id) : ids[i])
    return out
  }

  Object.assign(RTX, {Pieces})
})
