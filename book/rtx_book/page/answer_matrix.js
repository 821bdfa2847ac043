// What rules ask of a 2 x 2 matrix, the script's side of `measures`.
(() => {
const norm = ([a, b, c, d]) => {
  const sum = a * a + b * b + c * c + d * d
  return Math.sqrt((sum + Math.sqrt(Math.max(0, sum * sum - 4 * (a * d - b * c) ** 2))) / 2)
}
return ([a, b, c, d]) => {
  const half = (a + d) / 2, det = a * d - b * c, root = half * half - det
  const radius = root < 0 ? Math.sqrt(det) : Math.abs(half) + Math.sqrt(root)
  const bend = Math.SQRT2 * Math.hypot(b * b - c * c, (a - d) * (c - b))
  let power = [1, 0, 0, 1], peak = 0, step = 0
  for (let k = 1; k < 100; k++) {
    const [p, q, r, s] = power
    power = [a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s]
    if (norm(power) > peak) [peak, step] = [norm(power), k]
  }
  return {radius, norm: norm([a, b, c, d]), bend, peak, step}
}
})()
