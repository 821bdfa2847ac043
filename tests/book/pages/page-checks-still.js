// Live figures that are no picture on paper. What is folded opens before it is printed (site.js): it is looked at open.
() => [...document.querySelectorAll('figure[data-live]')].filter(e => {
    const folded = e.closest('details:not([open])')
    if (folded) folded.open = true
    const picture = e.querySelector('.live-still svg')?.checkVisibility()
      && !e.querySelector('.live-body')?.checkVisibility()
    if (folded) folded.open = false
    return !picture
  })
  .map(e => `the live figure ${e.dataset.live} is no picture on paper`)
