(async () => {
  const figure = document.querySelector('figure[data-live=train]')
  const button = [...figure.querySelectorAll('button')].find((b) => b.textContent === 'Train')
  button.click()
  for (let i = 0; i < 600 && !/step [1-9]/.test(figure.textContent); i++)
    await new Promise((done) => setTimeout(done, 100))
  return figure.textContent
})()
