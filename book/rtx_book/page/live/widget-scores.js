// Scores to be dragged, and the weights that a softmax makes of them.
RTX.part('widget-scores', (RTX) => {
  const {el, range, check, button, voice, weigh} = RTX
  const FAR = 4, FINE = 20  // scores from -4 to 4 in steps of 1/20
  const steps = Array.from({length: 2 * FAR * FINE + 1}, (_, i) => i / FINE - FAR)
  const place = (score) => Math.max(0, Math.min(steps.length - 1, Math.round((score + FAR) * FINE)))
  const short = (x) => x === 0 ? '0' : x < 0.001 ? x.toExponential(0) : x < 99.5 ? x.toPrecision(2) : x.toFixed(0)

  // options: scores, of standard deviation near 1; width, the K at the start
  RTX.widget('scores', (body, {scores, width}) => {
    const widths = [1, 4, 16, 64, 256, 1024], temperatures = [0.1, 0.2, 0.5, 1, 2, 5, 10]
    const draw = RTX.random(Date.now()), told = voice('live-aside'), row = [...scores]
    let scaled = false, K = width, temperature = 1
    const bars = row.map(() => ({bar: el('i'), out: el('output', {'aria-live': 'off'})}))
    const sliders = row.map((score, j) => range(`key ${j + 1}`, steps, place(score), (moved) => { row[j] = moved; follow() },
      (moved) => moved.toFixed(2).replace('-', '−')))
    const says = el('p', {className: 'live-task'})
    function follow() {
      const {weights, factor, passes} = weigh(row, {width: K, scaled, temperature})
      weights.forEach((a, j) => {
        bars[j].bar.style.width = `${100 * a}%`
        bars[j].out.textContent = `${(100 * a).toFixed(1)} %`
      })
      const top = weights.indexOf(Math.max(...weights))
      says.textContent = `The scores enter the softmax ${factor === 1 ? 'as they stand' : `times ${short(factor)}`}. `
        + `Key ${top + 1} takes ${(100 * weights[top]).toFixed(0)} % of the weight. `
        + `What passes: a gradient of norm ${short(passes)}; eight equal weights pass ${short(weigh(row.map(() => 0)).passes)}.`
      told.say(says.textContent, false)
    }
    const set = (next) => { next.forEach((score, j) => { row[j] = steps[place(score)]; sliders[j].set(place(score)) }); follow() }
    body.append(
      el('div', {className: 'live-controls'},
        range('width K', widths, Math.max(0, widths.indexOf(width)), (k) => { K = k; follow() }).label,
        check('divide by √K', scaled, (on) => { scaled = on; follow() }),
        range('temperature', temperatures, temperatures.indexOf(1), (t) => { temperature = t; follow() }).label),
      el('div', {className: 'scores-rows'}, row.map((_, j) => el('div', {className: 'scores-row'}, sliders[j].label,
        el('span', {className: 'scores-bar', 'aria-hidden': 'true'}, bars[j].bar), bars[j].out))),
      el('div', {className: 'live-buttons'}, button('Draw new scores', () => set(row.map(() => draw.normal()))),
        button('All equal', () => set(row.map(() => 0)))),
      says, told.element)
    follow()
  })
})
