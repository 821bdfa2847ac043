// On pages with live figures only: when the reader comes near the first of them, their scripts begin to come.
{
  const near = new URL('live/', document.currentScript.src).href
  const script = (name) => new Promise((done, fail) => {
    const tag = document.createElement('script')
    Object.assign(tag, {src: `${near}${name}.js`, async: false, onload: done, onerror: fail})
    document.head.append(tag)
  })
  const observe = () => {
    const figures = document.querySelectorAll('figure[data-live]')
    const seen = new IntersectionObserver(async (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return
      seen.disconnect()
      try {
        await Promise.all(['base', 'controls', 'start'].map(script))
        globalThis.RTX.start()
      } catch { /* the still pictures stay */ }
    }, {rootMargin: '600px'})
    figures.forEach((figure) => seen.observe(figure))
    // A link to a figure as somebody left it (live/address.js) leads there; Back and a reload find their place themselves
    const [, kind, place] = /[#&]([a-z-]+?)(?:-(\d+))?=[^&=]*$/.exec(location.hash) || []
    if (kind && performance.getEntriesByType('navigation')[0]?.type === 'navigate')
      document.querySelectorAll(`figure[data-live="${kind}"]`)[(place || 1) - 1]?.scrollIntoView()
  }
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', observe)
  else observe()
}
