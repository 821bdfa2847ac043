// A text that grows and shrinks, and darts that fall by the shares.
({weights, ids}) => {
  const text = new RTX.Written(RTX.character(matrices(weights)))
  text.begin([3, 4])
  text.begin([...ids.slice(0, 4), 6])
  text.add(6)
  text.back()
  text.begin(ids.slice(0, 4))
  for (const id of ids.slice(4)) text.add(id)
  const share = {order: [2, 0, 1], p: [0.25, 0.25, 0.5], kept: 2}
  return {bits: text.rows.map(({bits}) => bits), logits: [...text.logits],
          falls: [0, 0.49, 0.51, 0.99].map((u) => RTX.fall(share, u)), entropy: RTX.entropy(share.p)}
}
