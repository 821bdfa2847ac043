// Formulas that are source text still, or that could not be set.
() => {
  const source = [...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container math'))
  const errors = [...document.querySelectorAll('mjx-merror, .MathJax_Error')]
  return [...source.map(e => `formula not set: ${e.textContent.slice(0, 80)}`),
          ...errors.map(e => `error in a formula: ${e.textContent.slice(0, 80)}`)]
}
