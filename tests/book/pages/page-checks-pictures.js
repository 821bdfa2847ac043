// Pictures that cannot be drawn.
async () => {
  const broken = []
  for (const image of document.images) {
    image.loading = 'eager'
    try { await image.decode() }
    catch { if (!image.naturalWidth) broken.push(`broken picture: ${image.src.slice(0, 120)}`) }
  }
  return broken
}
