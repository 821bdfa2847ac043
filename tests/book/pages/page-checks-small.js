// Words in live figures that are smaller than 10 px on this screen, or cut by the edge of their drawing.
() => {
  const faults = []
  for (const e of document.querySelectorAll('.live-body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
    if (!own || !e.checkVisibility() || e.tagName === 'OPTION') continue
    const matrix = e.ownerSVGElement ? e.getScreenCTM() : {a: 1, b: 0}
    const size = parseFloat(getComputedStyle(e).fontSize) * Math.hypot(matrix.a, matrix.b)
    if (size < 9.95) faults.push(`${size.toFixed(1)} px: ${e.textContent.trim().slice(0, 40)}`)
    if (!e.ownerSVGElement) continue
    const box = e.getBoundingClientRect(), all = e.ownerSVGElement.getBoundingClientRect()
    const out = Math.max(all.left - box.left, box.right - all.right, all.top - box.top, box.bottom - all.bottom)
    if (out > 1.5 && getComputedStyle(e.ownerSVGElement).overflow !== 'visible')
      faults.push(`cut by ${out.toFixed(1)} px: ${e.textContent.trim().slice(0, 40)}`)
  }
  return faults.slice(0, 5)
}
