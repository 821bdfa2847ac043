() => {
  const seen = e => e.textContent.trim() && e.checkVisibility()
  const letters = e => [...e.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim())
  const size = text => Math.max(...[text, ...text.querySelectorAll('tspan')].filter(letters)
    .map(e => parseFloat(getComputedStyle(e).fontSize)))
  const pictures = [...document.querySelectorAll('article figure svg')].filter(svg => svg.checkVisibility())
  return pictures.flatMap(svg => [...svg.querySelectorAll('text')].filter(seen).map(text => {
    const {a, b} = text.getScreenCTM()
    const name = svg.getAttribute('aria-label') || svg.closest('figure').textContent.trim()
    return [name.slice(0, 70), text.textContent.trim().slice(0, 30), size(text) * Math.hypot(a, b)]
  }))
}
