([selector, drawn]) => {
  const size = e => e.getBoundingClientRect(), box = e => e && size(e), article = document.querySelector('article')
  const h1 = article.querySelector('h1'), figure = article.querySelector(selector)
  const title = figure?.querySelector('.fig-title'), before = e => e.compareDocumentPosition(figure) & 4
  const folds = figure ? [...article.querySelectorAll('details.hide, div.cell_input')].filter(before) : []
  const all = [...figure?.querySelectorAll(`.live-body :is(${drawn})`) || []].filter(e => e.checkVisibility()).map(size)
  const blank = [...figure?.querySelectorAll('.live-chart') || []].some(e => e.checkVisibility() &&
    !e.querySelector('.live-line:not(.live-base)'))
  const main = all.sort((a, b) => b.width * b.height - a.width * a.height)[0]
  return {h1: box(h1)?.bottom, title: title?.checkVisibility() ? box(title).bottom : null, drawing: main?.bottom,
    begins: main && Math.min(...all.map(e => e.top)) + scrollY, said: title?.textContent.trim(),
    figure: box(figure)?.bottom, folds: folds.length, blank}
}
