// Whether the element that has the focus looks different from itself without it. Inside a frame the focus is the
// frame's own matter.
() => {
  const e = document.activeElement
  if (!e || e === document.body || e.tagName === 'IFRAME') return null
  const shown = [e, e.closest('.sd-card') || e, e.querySelector('.toctree-toggle') || e]  // where the theme shows it
  const kinds = ['outline', 'boxShadow', 'border', 'backgroundColor', 'textDecoration', 'clip', 'transform']
  const look = () => shown.flatMap(one => kinds.map(kind => getComputedStyle(one)[kind])).join(';')
  const text = (e.getAttribute('aria-label') || e.textContent).trim().slice(0, 40)
  const focused = look()
  e.blur()
  const visible = focused !== look()
  e.focus()
  return {name: `${e.tagName.toLowerCase()}.${[...e.classList].join('.')} ${text}`, visible}
}
