// rtx_lib.models.BERT, trained: a text with gaps goes through all layers at once, as every position sees every other.
RTX.part('bert', (RTX) => {
  const {affine, row, norm, tree, gelu} = RTX
  const EPS = 1e-12  // under the root of each of its norms
  const add = (x, y) => x.map((value, i) => value + y[i])
  const layerNorm = (x, w) => norm(x, w, EPS)

  class Bert {
    // weights: {name: Matrix} with torch's names
    constructor(weights, {heads}) {
      this.w = tree(weights)
      const {encoder} = this.w
      Object.assign(this, {heads, blocks: Object.values(encoder.stack.blocks), length: encoder.positions.weight.r})
    }
    // The last layer's h of every position
    encode(ids) {
      if (ids.length > this.length) throw new Error(`encode: ${ids.length} words, at most ${this.length}`)
      const {embedding, segments, positions, norm: first} = this.w.encoder
      let h = ids.map((id, t) =>
        layerNorm(add(add(row(embedding.weight, id), row(segments.weight, 0)), row(positions.weight, t)), first))
      for (const {self_attention: attention, feed_forward: {linear1, linear2}, norms} of this.blocks) {
        const read = RTX.layers.everyAttention(attention, h, this.heads)
        h = h.map((x, t) => layerNorm(add(x, read[t]), norms[0]))
        h = h.map((x) => layerNorm(add(x,
          affine(linear2.weight, affine(linear1.weight, x, linear1.bias).map(gelu), linear2.bias)), norms[1]))
      }
      return h
    }
    // The logits of the words at these places
    predict(ids, places) {
      const {transform, norm: last, encoder, bias} = this.w, h = this.encode(ids)
      return places.map((t) => {
        const z = layerNorm(affine(transform.weight, h[t], transform.bias).map(gelu), last)
        return affine(encoder.embedding.weight, z, bias)
      })
    }
  }
  RTX.Bert = Bert
})
