// One step of an LSTM or a GRU as a drawing with its numbers: the line of the memory, and a valve for each gate that
// stands as far open as the gate is. Text and colours follow the page.
RTX.part('gate-drawing', (RTX) => {
  const {el} = RTX
  const LINE = 34, VALVE = {w: 54, h: 34}
  const two = (v) => (Math.abs(v) < 0.005 ? 0 : v).toFixed(2).replace('-', '−')
  const text = (x, y, words, anchor = 'middle') => el('text', {x, y, 'text-anchor': anchor}, words)
  const path = (d, cls = '') => el('path', {d, class: `live-gate-line ${cls}`})
  const circle = (x, y, sign) => [el('circle', {cx: x, cy: y, r: 11, class: 'live-gate-ring'}), text(x, y + 5, sign)]

  // A gate: as high as it is filled it lets through; `hand` when the reader holds it
  function valve(x, y, name, value, hand, press) {
    const {w, h} = VALVE, fill = Math.max(0, Math.min(1, value)) * h
    return el('g', {class: `live-gate-valve${hand ? ' live-gate-hand' : ''}`, onclick: press},
      el('rect', {x: x - w / 2, y: y + h / 2 - fill, width: w, height: fill, class: 'live-gate-open'}),
      el('rect', {x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 4, class: 'live-gate-rim'}),
      text(x, y + 5, `${name} ${two(value)}`))
  }
  const box = (x, y, words) => [
    el('rect', {x: x - 36, y: y - 15, width: 72, height: 30, rx: 4, class: 'live-gate-rim'}), text(x, y + 5, words)]

  // step: one of RTX.gated's; old: the memory before it; press(name): a valve was clicked; held(name): by the reader
  function lstm(step, old, t, press, held) {
    const gate = (name, x, y) => valve(x, y, name, step[name][0], held(name), () => press(name))
    return [
      path(`M78 ${LINE}H99`), path(`M121 ${LINE}H179`), path(`M201 ${LINE}H282`),
      text(40, LINE - 12, `c at step ${t - 1}`), text(40, LINE + 8, two(old)),
      text(316, LINE - 12, `c at step ${t}`), text(316, LINE + 8, two(step.c[0])),
      ...circle(110, LINE, '×'), path(`M110 87V${LINE + 11}`), gate('f', 110, 104),
      ...circle(190, LINE, '+'), path(`M190 76V${LINE + 11}`), ...circle(190, 87, '×'),
      path('M190 145V98'), ...box(190, 160, `g ${two(step.g[0])}`), path('M226 87H201'), gate('i', 253, 87),
      path('M322 50V129'), text(328, 96, 'tanh', 'start'), ...circle(322, 140, '×'),
      path('M295 140H311'), gate('o', 268, 140), path('M322 151V180'), text(322, 198, `h ${two(step.h[0])}`),
      path('M190 175V186', 'live-gate-in'), text(190, 202, `x ${two(step.x[0])}`),
    ]
  }
  function gru(step, old, t, press, held) {
    const gate = (name, x, y) => valve(x, y, name, step[name][0], held(name), () => press(name))
    return [
      path(`M78 ${LINE}H109`), path(`M131 ${LINE}H229`), path(`M251 ${LINE}H268`),
      text(40, LINE - 12, `h at step ${t - 1}`), text(40, LINE + 8, two(old)),
      text(304, LINE - 12, `h at step ${t}`), text(304, LINE + 8, two(step.h[0])),
      ...circle(120, LINE, '×'), path(`M120 70V${LINE + 11}`), gate('z', 120, 87),
      path('M147 87H229'), text(188, 81, '1 − z'), ...circle(240, LINE, '+'), ...circle(240, 87, '×'),
      path(`M240 76V${LINE + 11}`), path('M240 138V98'), ...box(240, 153, `n ${two(step.n[0])}`),
      path('M147 153H204'), gate('r', 120, 153), path(`M40 50V153H93`, 'live-gate-in'),
      path('M240 190V168', 'live-gate-in'), text(240, 204, `x ${two(step.x[0])}`),
    ]
  }
  const gateDrawing = (kind, ...given) => el('svg', {viewBox: '0 0 362 210', class: 'live-gate-drawing', 'aria-hidden': 'true'},
    (kind === 'lstm' ? lstm : gru)(...given))
  Object.assign(RTX, {gateDrawing, two})
})
