// An explorer's slider: the frame where it stands is there, the others are away.
(slider) => {
const figure = slider.closest('figure')
figure.querySelectorAll('.frame').forEach((frame, i) => {
  frame.hidden = i !== +slider.value
  if (frame.hidden) return
  figure.querySelector('output').textContent = frame.dataset.label
  slider.setAttribute('aria-valuetext', frame.dataset.label)
})
}
