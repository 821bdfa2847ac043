() => {
  const width = document.documentElement.clientWidth, faults = []
  if (document.scrollingElement.scrollWidth > width + 1)
    faults.push(`the page is ${document.scrollingElement.scrollWidth} px wide on a screen of ${width} px`)
  const scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)
  const name = e => `${e.tagName.toLowerCase()}.${[...e.classList].join('.')} ${e.textContent.trim().slice(0, 50)}`
  for (const e of (document.querySelector('article') || document.body).querySelectorAll('*')) {
    const box = e.getBoundingClientRect()
    if (box.width < 2 || box.right <= width + 1 || e.closest('mjx-assistive-mml, defs, clipPath')) continue
    if (e.ownerSVGElement) continue
    let parent = e.parentElement
    while (parent && !scrolls(parent)) parent = parent.parentElement
    if (!parent || parent === document.documentElement || parent === document.body)
      faults.push(`stands out to ${Math.round(box.right)} px: ${name(e)}`)
  }
  return faults.slice(0, 5)
}
