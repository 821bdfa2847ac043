// Weights as a page carries them: all tensors in one text in base64, as float16, or as int8 with a scale for each.
RTX.part('weights', (RTX) => {
  const FRACTION = 2 ** -10, LEAST = 2 ** -24  // of a float16
  function half(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023
    if (exponent === 31) return fraction ? NaN : sign * Infinity
    return sign * (exponent ? (1 + fraction * FRACTION) * 2 ** (exponent - 15) : fraction * LEAST)
  }
  // tensors: {name: {shape, at, scale?}}, `at` the place of its first byte in data; with a scale it is int8.
  // Out comes {name: Matrix}: the last axis makes the columns, all others together the rows.
  function unpack({tensors, data}) {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0)), view = new DataView(bytes.buffer), out = {}
    for (const [name, {shape, at, scale}] of Object.entries(tensors)) {
      const c = shape.length ? shape[shape.length - 1] : 1, r = shape.slice(0, -1).reduce((a, b) => a * b, 1)
      const m = out[name] = RTX.matrix(r, c)
      for (let i = 0; i < r * c; i++)
        m.v[i] = scale === undefined ? half(view.getUint16(at + 2 * i, true)) : view.getInt8(at + i) * scale
    }
    return out
  }
  Object.assign(RTX, {half, unpack})
})
