(async () => {
  const figures = [...document.querySelectorAll('figure[data-live]')]
  for (const figure of figures) {
    figure.closest('details')?.setAttribute('open', '')
    figure.scrollIntoView({behavior: 'instant'})
    for (let i = 0; i < 600 && !['ready', 'failed'].includes(figure.dataset.state); i++)
      await new Promise((done) => setTimeout(done, 100))
  }
  return figures.map((figure) => [figure.dataset.live, figure.dataset.state])
})()
