// A recurrent network that reads a picture row by row, and what a drawing needs before it can be read.
RTX.part('digits', (RTX) => {
  const {affine, softmax, tree, Recurrent} = RTX

  // rtx_lib.layers.Readout of a recurrent network
  class RowReader {
    constructor(weights) {
      this.core = new Recurrent(weights, {prefix: 'core.'})
      this.linear = tree(weights).linear
    }
    // After each row: the state h, and the probability p of each class
    read(rows) {
      this.core.reset()
      return rows.map((x) => {
        const {h} = this.core.read(x)
        return {h, p: softmax(affine(this.linear.weight, h, this.linear.bias))}
      })
    }
  }

  // A scan has soft edges, a drawn cell has none: a drawn cell is black, and gives its four neighbours a share of its
  // ink on top of what the scan below has there. Without that, thin strokes are misread.
  function soften(scan, drawn, share = 0.3) {
    const at = (r, c) => drawn[r]?.[c] ? 1 : 0
    return scan.map((row, r) => Float64Array.from(row, (ink, c) => {
      const near = at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1)
      return at(r, c) || Math.min(1, ink + share * near)
    }))
  }

  const likeliest = (p) => p.indexOf(Math.max(...p))
  Object.assign(RTX, {RowReader, soften, likeliest})
})
