// One neuron of an IndRNN: it hears its input and its own last value, h_t = relu(z_t + u h_{t-1}).
RTX.part('neuron', (RTX) => {
  // The states h_1..h_T for the inputs z, from h_0
  function neuron(u, z, h0 = 0) {
    let h = h0
    return Float64Array.from(z, (now) => { h = Math.max(0, now + u * h); return h })
  }
  // Where a bias alone holds it, if it does: b / (1 - u); null where it would run away or sits at zero
  const rest = (u, bias) => bias > 0 && u < 1 ? bias / (1 - u) : 0
  // The neuron's states with pulses {step: height}, steps from 1 to T, on top of a bias, from rest
  function response(u, pulses, bias, T) {
    const z = new Float64Array(T).fill(bias)
    for (const [t, height] of Object.entries(pulses)) if (t >= 1 && t <= T) z[t - 1] += height
    return neuron(u, z, rest(u, bias))
  }
  // What the pulse of step s changes at each step: the states with it less those without it
  function worthOf(u, pulses, bias, T, s) {
    const without = response(u, {...pulses, [s]: 0}, bias, T)
    return response(u, pulses, bias, T).map((h, t) => h - without[t])
  }
  // Steps until half is left (|u| < 1) or twice as much is there (|u| > 1)
  const memoryLength = (u) => {
    const size = Math.abs(u)
    return size === 0 ? 0 : size === 1 ? Infinity : Math.LN2 / Math.abs(Math.log(size))
  }
  // The sizes of u whose factor over T steps lies between `keep` and `grow`
  const window_ = (T, keep, grow) => [keep ** (1 / T), grow ** (1 / T)]
  Object.assign(RTX, {neuron, rest, response, worthOf, memoryLength, window: window_})
})
