([logits, temperature, one, count]) => {
  const {uniform} = RTX.random(1), sums = new Float64Array(88)
  let melody = 0
  for (let n = 0; n < count; n++) {
    const frame = RTX.roll.frameOf(Float64Array.from(logits), uniform, temperature, one)
    for (const key of frame) sums[key]++
    melody += frame.filter((key) => key >= RTX.roll.MELODY).length
  }
  return {shares: lists(sums.map((sum) => sum / count)), melody}
}
