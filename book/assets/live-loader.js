// On pages with live figures only: when the reader comes near the first of them, their scripts begin to come.
{
  const near = new URL('live/', document.currentScript.src).href
  const script = (name) => new Promise((done, fail) => {
    const tag = document.createElement('script')
    Object.assign(tag, {src: `${near}${name}.js`, async: false, onload: done, onerror: fail})
    document.head.append(tag)
  })
  // A link to a figure as somebody left it (live/address.js) leads there; Back and a reload find their place themselves
  const lead = () => {
    const [, kind, place] = /[#&]([a-z-]+?)(?:-(\d+))?=[^&=]*$/.exec(location.hash) || []
    if (kind) document.querySelectorAll(`figure[data-live="${kind}"]`)[(place || 1) - 1]?.scrollIntoView()
  }
  const observe = () => {
    const figures = document.querySelectorAll('figure[data-live]')
    let asked = false
    const seen = new IntersectionObserver(async (entries) => {
      if (asked || !entries.some((entry) => entry.isIntersecting)) return
      asked = true
      try {
        await Promise.all(['base', 'controls', 'start'].map(script))
        seen.disconnect()
        globalThis.RTX.start()
      } catch { asked = false }  // the still pictures stay, until one comes near again or the network is back
    }, {rootMargin: '600px'})
    const look = () => figures.forEach((figure) => { seen.unobserve(figure); seen.observe(figure) })
    look()
    addEventListener('online', () => { if (!asked) look() })
    if (performance.getEntriesByType('navigation')[0]?.type === 'navigate') lead()
    addEventListener('hashchange', lead)
  }
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', observe)
  else observe()
}
