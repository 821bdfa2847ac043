// One neuron of a state space model, h' = A h + B u and y = Re(C h) with A = -alpha + i omega, in steps of length delta:
// h_t = a h_{t-1} + b u_t. Complex numbers are pairs, [real, imaginary].
RTX.part('state-space', (RTX) => {
  const times = ([x, y], [p, q]) => [x * p - y * q, x * q + y * p]
  const over = ([x, y], [p, q]) => times([x, y], [p / (p * p + q * q), -q / (p * p + q * q)])
  // e^z - 1, without loss where z is small
  const less1 = ([x, y]) => [Math.expm1(x) * Math.cos(y) - 2 * Math.sin(y / 2) ** 2, Math.exp(x) * Math.sin(y)]

  // a and b of a step. exact: a zero-order hold, a = e^(delta A) and b = (a - 1) / A B. euler: a = 1 + delta A, b = delta B.
  // mamba: a exact and b by Euler's rule, as in Mamba's code; `discretisation="euler"` of rtx_lib's selective_scan.
  function discretised(rule, delta, {alpha, omega, B}) {
    const z = [-delta * alpha, delta * omega], grown = rule === 'euler' ? z : less1(z), written = [delta * B, 0]
    const held = rule === 'exact' && (alpha || omega)
    return {a: [1 + grown[0], grown[1]], b: held ? times(written, over(grown, z)) : written}
  }
  // Of every step: a, b, the state h and the output y, from h_0 = 0
  function integrate(u, deltas, {rule, C, ...rest}) {
    let h = [0, 0]
    return Array.from(u, (now, t) => {
      const {a, b} = discretised(rule, deltas[t], rest), kept = times(a, h)
      h = [kept[0] + b[0] * now, kept[1] + b[1] * now]
      return {a, b, h, y: C * h[0]}
    })
  }
  Object.assign(RTX, {discretised, integrate})
})
