({weights, told, word, noise, pauses}) => {
  const lane = new RTX.RopeLane(new RTX.BitReader(matrices(weights), told), noise)
  return pauses.map((pause) => {
    const steps = lane.write({word, pause})
    for (let step; ;) if ((step = steps.next()).done) return step.value
  })
}
