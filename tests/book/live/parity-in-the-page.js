const matrices = (arrays) => Object.fromEntries(Object.entries(arrays).map(([name, {shape, v}]) => {
  const c = shape.at(-1) ?? 1
  return [name, RTX.matrix(v.length / c, c, Float64Array.from(v))]
}))
const lists = (x) => ArrayBuffer.isView(x) ? [...x]
  : Array.isArray(x) ? x.map(lists)
  : x && typeof x === 'object' ? Object.fromEntries(Object.entries(x).map(([k, v]) => [k, lists(v)])) : x
