// The recurrent cells that can learn here, in the book's equations, with torch.nn's names, shapes and order of blocks
// (LSTM i, f, g, o; GRU r, z, n). The pointwise part of a step is one loop forward and one back: as single operations
// on the tape it takes twice the time.
RTX.part('cells', (RTX) => {
  const {parameter} = RTX, {exp, sqrt} = Math

  const drawn = (r, c, draw) => {
    const m = parameter(r, c)
    for (let i = 0; i < m.v.length; i++) m.v[i] = draw()
    return m
  }
  const uniform = (r, c, bound, chance) => drawn(r, c, () => (2 * chance.uniform() - 1) * bound)
  const normal = (r, c, deviation, chance) => drawn(r, c, () => deviation * chance.normal())
  const identity = (n, scale) => {
    const m = parameter(n, n)
    for (let i = 0; i < n; i++) m.v[i * n + i] = scale
    return m
  }
  // torch.nn's rule for a layer of so many blocks; `scale` is for the recurrent weights alone
  const plain = (blocks) => (D, H, chance, {scale}) => {
    const bound = 1 / sqrt(H), rows = blocks * H
    return {
      weight_ih: uniform(rows, D, bound, chance), weight_hh: uniform(rows, H, bound * scale, chance),
      bias_ih: uniform(1, rows, bound, chance), bias_hh: uniform(1, rows, bound, chance),
    }
  }

  // a (B, 4H): the blocks i, f, g, o before they are squashed; c (B, H): the cell state before this step
  function lstmStep(tape, a, c) {
    const B = c.r, H = c.c, gates = tape.take(B, 4 * H)
    const h = tape.take(B, H), next = tape.take(B, H), squashed = tape.take(B, H)
    const A = a.v, C = c.v, N = next.v, S = squashed.v, Y = h.v, K = gates.v
    for (let b = 0, m = 0; b < B; b++) for (let j = 0; j < H; j++, m++) {
      const p = b * 4 * H + j, q = p + H, r = q + H, s = r + H
      const i = K[p] = 1 / (1 + exp(-A[p])), f = K[q] = 1 / (1 + exp(-A[q]))
      const g = K[r] = 1 - 2 / (exp(2 * A[r]) + 1), o = K[s] = 1 / (1 + exp(-A[s]))
      N[m] = f * C[m] + i * g
      S[m] = 1 - 2 / (exp(2 * N[m]) + 1)
      Y[m] = o * S[m]
    }
    tape.way(() => {
      const G = a.g, E = c.g, F = next.g, L = h.g
      for (let b = 0, m = 0; b < B; b++) for (let j = 0; j < H; j++, m++) {
        const p = b * 4 * H + j, q = p + H, r = q + H, s = r + H
        const i = K[p], f = K[q], g = K[r], o = K[s], t = S[m]
        const d = F[m] += L[m] * o * (1 - t * t)  // now dL/dc_t in full
        G[p] += d * g * i * (1 - i)
        G[q] += d * C[m] * f * (1 - f)
        G[r] += d * i * (1 - g * g)
        G[s] += L[m] * t * o * (1 - o)
        E[m] += d * f
      }
    })
    return {h, c: next, gates}
  }
  // a, u (B, 3H): the blocks r, z, n of the input and of the state, whose reset comes after the matrix
  function gruStep(tape, a, u, h) {
    const B = h.r, H = h.c, next = tape.take(B, H), gates = tape.take(B, 3 * H)
    const A = a.v, U = u.v, X = h.v, Y = next.v, K = gates.v
    for (let b = 0, m = 0; b < B; b++) for (let j = 0; j < H; j++, m++) {
      const p = b * 3 * H + j, q = p + H, s = q + H
      const r = K[p] = 1 / (1 + exp(-A[p] - U[p])), z = K[q] = 1 / (1 + exp(-A[q] - U[q]))
      const n = K[s] = 1 - 2 / (exp(2 * (A[s] + r * U[s])) + 1)
      Y[m] = n + z * (X[m] - n)
    }
    tape.way(() => {
      const G = a.g, V = u.g, E = h.g, L = next.g
      for (let b = 0, m = 0; b < B; b++) for (let j = 0; j < H; j++, m++) {
        const p = b * 3 * H + j, q = p + H, s = q + H, r = K[p], z = K[q], n = K[s], g = L[m]
        const dn = g * (1 - z) * (1 - n * n), dr = dn * U[s] * r * (1 - r), dz = g * (X[m] - n) * z * (1 - z)
        G[p] += dr; G[q] += dz; G[s] += dn
        V[p] += dr; V[q] += dz; V[s] += dn * r
        E[m] += g * z
      }
    })
    return {h: next, gates}
  }
  // relu(z + u h) with u (1, H): every neuron reads no past but its own. `known`: the next state, if a scan made it.
  function indrnnStep(tape, z, u, h, known) {
    const B = z.r, H = z.c, next = tape.take(B, H), Z = z.v, U = u.v, X = h.v, Y = next.v
    if (known) Y.set(known)
    else for (let b = 0, m = 0; b < B; b++) for (let j = 0; j < H; j++, m++) {
      const a = Z[m] + U[j] * X[m]
      Y[m] = a > 0 ? a : 0
    }
    tape.way(() => {
      const G = z.g, V = u.g, E = h.g, L = next.g
      for (let b = 0, m = 0; b < B; b++) for (let j = 0; j < H; j++, m++) if (Y[m] > 0) {
        G[m] += L[m]
        V[j] += L[m] * X[m]
        E[m] += L[m] * U[j]
      }
    })
    return {h: next}
  }

  // weights(D, H, chance, options): one layer as it starts. options: scale of the recurrent weights; T, the length for
  // which it is made; first, whether it reads the input; forget, the LSTM's bias.
  // inputs: all that a layer can compute from x (T B, D) before the first state. step: from there to the next state.
  const both = (tape, w, x) => tape.linear(x, w.weight_ih, tape.plus(w.bias_ih, w.bias_hh))
  const CELLS = {
    rnn: {
      weights: plain(1), inputs: both,
      step: (tape, w, z, {h}) => ({h: tape.tanh(tape.linear(h, w.weight_hh, null, z))}),
    },
    // Le, Jaitly and Hinton (2015): ReLU, the recurrent matrix starts as the identity
    irnn: {
      weights: (D, H, chance, {scale}) => ({
        weight_ih: normal(H, D, 0.03, chance), weight_hh: identity(H, scale),
        bias_ih: parameter(1, H), bias_hh: parameter(1, H),
      }),
      inputs: both,
      step: (tape, w, z, {h}) => ({h: tape.relu(tape.linear(h, w.weight_hh, null, z))}),
    },
    lstm: {
      weights: (D, H, chance, options) => {
        const w = plain(4)(D, H, chance, options)
        w.bias_ih.v.fill(options.forget, H, 2 * H)
        w.bias_hh.v.fill(0, H, 2 * H)
        return w
      },
      inputs: both,
      step: (tape, w, z, {h, c}) => lstmStep(tape, tape.linear(h, w.weight_hh, null, z), c),
    },
    gru: {
      weights: plain(3),
      inputs: (tape, w, x) => tape.linear(x, w.weight_ih, w.bias_ih),  // b_hn stands inside the reset and waits
      step: (tape, w, z, {h}) => gruStep(tape, z, tape.linear(h, w.weight_hh, w.bias_hh), h),
    },
    // Li et al. (2018), as rtx_lib.models.indrnn starts it: u of the first layer between 0 and 2^(1/T), of the last
    // near 1, where a neuron adds up T inputs and its weights are therefore T times smaller
    indrnn: {
      weights: (D, H, chance, {scale, T, first}) => {
        const bound = sqrt(6 / D) / (first ? 1 : T), least = first ? 0 : 0.9 ** (1 / T), most = 2 ** (1 / T)
        return {
          weight: uniform(H, D, bound, chance), bias: parameter(1, H),
          u: drawn(1, H, () => scale * (least + (most - least) * chance.uniform())),
        }
      },
      inputs: (tape, w, x) => tape.linear(x, w.weight, w.bias),
      step: (tape, w, z, {h}, known) => indrnnStep(tape, z, w.u, h, known),
    },
  }

  // One layer over x (T B, D), the steps below each other: the states {h, c, gates} of steps 1..T, h (B, H).
  // scan(z, u, B): makes all states of an IndRNN at once (scan.js).
  function run(tape, kind, w, x, B, scan = null) {
    const {inputs, step} = CELLS[kind], z = inputs(tape, w, x), H = (w.u || w.weight_hh).c, states = []
    const all = scan && scan(z, w.u, B)
    let state = {h: tape.take(B, H), c: kind === 'lstm' ? tape.take(B, H) : null}
    for (let from = 0; from < x.r; from += B) {
      const known = all && all.subarray(from * H, (from + B) * H)
      state = step(tape, w, tape.rows(z, from, from + B), state, known)
      states.push(state)
    }
    return states
  }
  // The states h of all steps below each other (T B, H), as the layer above reads them
  function stacked(tape, states) {
    const {r, c} = states[0].h, size = r * c, y = tape.take(states.length * r, c)
    states.forEach(({h}, t) => y.v.set(h.v, t * size))
    tape.way(() => states.forEach(({h}, t) => {
      for (let m = 0, from = t * size; m < size; m++) h.g[m] += y.g[from + m]
    }))
    return y
  }
  Object.assign(RTX, {CELLS, run, stacked, uniform})
})
