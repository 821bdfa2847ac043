// A film: `figure` holds the picture, a range and a button; data-film the numbers of every frame and the pace.
(figure) => {
const {moves, labels, pause} = JSON.parse(figure.dataset.film)
const slider = figure.querySelector('input'), button = figure.querySelector('button')
const output = figure.querySelector('output'), movers = figure.querySelectorAll('[data-moves]')
let timer = 0

const stop = () => {
  clearInterval(timer)
  timer = 0
  button.textContent = 'Play'
}
const show = (frame) => {
  slider.value = frame
  for (const mover of movers) {
    const to = moves[mover.dataset.moves][frame]
    if (mover.tagName === 'path') mover.setAttribute('d', to)
    else if (mover.tagName === 'text') mover.textContent = to
    else movePoints([...mover.children], to.match(/-?[\d.]+/g) ?? [])
  }
  output.textContent = labels[frame]
  slider.setAttribute('aria-valuetext', labels[frame])
}
const movePoints = (points, numbers) => points.forEach((point, i) => {
  const on = 2 * i < numbers.length
  point.setAttribute('display', on ? 'inline' : 'none')
  if (on) point.setAttribute('x', numbers[2 * i])
  if (on) point.setAttribute('y', numbers[2 * i + 1])
})
const step = () => show(+slider.value < +slider.max ? +slider.value + 1 : 0)

slider.oninput = () => {  // a move by hand ends a film that is playing
  if (timer) stop()
  show(+slider.value)
}
button.onclick = () => {
  if (timer) return stop()
  step()
  // Where reduced motion is asked for, the style sheet hides the button; without the sheet a press makes one step.
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return
  button.textContent = 'Pause'
  timer = setInterval(() => figure.isConnected && +slider.value < +slider.max ? step() : stop(), pause)
}
}
