// A control of an explorer: the frame where the slider stands is there, the others are away. Where there is a choice
// too, its value is the place of its first frame.
(control) => {
const figure = control.closest('figure'), slider = figure.querySelector('input')
const first = figure.querySelector('select')?.value ?? 0
figure.querySelectorAll('.frame').forEach((frame, i) => {
  frame.hidden = i !== +first + +slider.value
  if (frame.hidden) return
  figure.querySelector('output').textContent = frame.dataset.label
  slider.setAttribute('aria-valuetext', frame.dataset.label)
})
}
