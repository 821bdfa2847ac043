async html => {
  const place = document.body.appendChild(document.createElement('div'))
  place.innerHTML = html
  for (const old of place.querySelectorAll('script')) {
    const script = document.createElement('script')
    script.textContent = old.textContent
    old.replaceWith(script)
  }
}
