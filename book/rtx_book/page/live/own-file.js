// A trained reader of characters as the file that rtx_lib.save writes and rtx_lib.load reads (rtx_lib/saving.py): the
// length of a header in eight bytes, the header, and the numbers in single precision, low byte first.
RTX.part('own-file', (RTX) => {
  const VERSION = 1

  // weights {name: {r, c, v}}, of Readout(GRU(V, H), task); symbols, the V characters in order
  function ownFile(weights, symbols, length) {
    const V = symbols.length, H = weights['core.weight_hh_l0'].c
    const core = {class: 'GRU', arguments: {input_size: V, hidden_size: H}}
    const configuration = {name: `text-character-${length}`, length, level: 'character', encoding: 'utf-8', symbols: symbols.join('')}
    const told = {
      version: VERSION, model: {class: 'Readout', arguments: {core, output_size: V}},
      task: {class: 'TextTask', configuration},
    }
    const header = {__metadata__: {rtx_lib: JSON.stringify(told)}}
    let end = 0
    for (const name of Object.keys(weights).sort()) {
      const {r, c} = weights[name], from = end
      end += 4 * r * c
      header[name] = {dtype: 'F32', shape: name.includes('bias') ? [r * c] : [r, c], data_offsets: [from, end]}
    }
    const text = new TextEncoder().encode(JSON.stringify(header)), size = Math.ceil(text.length / 8) * 8
    const bytes = new Uint8Array(8 + size + end).fill(32, 8, 8 + size), view = new DataView(bytes.buffer)
    view.setBigUint64(0, BigInt(size), true)
    bytes.set(text, 8)
    for (const [name, {data_offsets: place}] of Object.entries(header))
      if (place) weights[name].v.forEach((value, i) => view.setFloat32(8 + size + place[0] + 4 * i, value, true))
    return bytes
  }
  RTX.ownFile = ownFile
})
