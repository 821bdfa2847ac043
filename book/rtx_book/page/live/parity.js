// Parity: is the number of ones so far odd? What was typed, what is right, and what one unit knows of it.
RTX.part('parity', (RTX) => {
  const MOST = 1000

  // What was typed as {bits}, at most so many; or {fault}, why it is none. Spaces may part the bits.
  function bitsOf(text, most = MOST) {
    const typed = text.replace(/\s/g, ''), other = [...typed].find((sign) => sign !== '0' && sign !== '1')
    if (other) return {fault: `Bits are 0 or 1, and “${other}” is neither.`}
    return typed.length > most ? {fault: `At most ${most.toLocaleString('en')} bits are read, not ${typed.length.toLocaleString('en')}.`}
      : {bits: Array.from(typed, Number)}
  }
  // 1 where the number of ones up to there is odd
  function parities(bits) {
    let odd = 0
    return bits.map((bit) => odd ^= bit)
  }
  // Where answers are wrong; how many are right, and the first step, from 1, that is wrong, or 0
  function judge(answers, wanted) {
    const wrong = answers.map((answer, t) => answer !== wanted[t])
    return {wrong, right: wrong.filter((is) => !is).length, first: wrong.indexOf(true) + 1}
  }
  // How well a unit's states tell odd from even: the size of their correlation, from 0 to 1
  function tells(states, wanted) {
    const n = states.length, mean = (v) => v.reduce((sum, one) => sum + one, 0) / n
    const h = mean(states), p = mean(wanted)
    let both = 0, own = 0, odd = 0
    states.forEach((v, t) => {
      both += (v - h) * (wanted[t] - p)
      own += (v - h) ** 2
      odd += (wanted[t] - p) ** 2
    })
    return own > 0 && odd > 0 ? Math.abs(both) / Math.sqrt(own * odd) : 0
  }
  Object.assign(RTX, {bitsOf, parities, judge, tells, mostBits: MOST})
})
