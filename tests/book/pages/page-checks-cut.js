// What paper cuts.
() => {
  const over = e => e.scrollWidth > e.clientWidth + 2 || e.getBoundingClientRect().right > innerWidth + 2
  return [...document.querySelectorAll('main pre, main table, main figure')]
    .filter(e => e.checkVisibility() && over(e))
    .map(e => `is cut on paper: ${e.tagName}: ${e.textContent.slice(0, 60)}`)
}
