// bertviz's words answer to the keyboard too: one Tab stop a side, arrows go up and down, what leaves loses its mark.
(svg) => {
  for (const side of svg.node().querySelectorAll('#left,#right')) {
    const words = [...side.lastElementChild.children]
    const mark = (kind) => new MouseEvent(kind, {bubbles: true})
    words.forEach((word, i) => {
      word.setAttribute('tabindex', i ? -1 : 0)
      word.setAttribute('role', 'button')
      word.setAttribute('aria-label', word.textContent)
      word.onfocus = () => word.dispatchEvent(mark('mouseover'))
      word.onblur = () => side.dispatchEvent(mark('mouseleave'))
      word.onkeydown = (event) => {
        const next = words[i + {ArrowDown: 1, ArrowUp: -1}[event.key]]
        if (!next) return
        event.preventDefault()
        word.setAttribute('tabindex', -1)
        next.setAttribute('tabindex', 0)
        next.focus()
      }
    })
  }
}
