// The trainer's two charts: the error of every step of training, and the gradient at every step of the sequence.
RTX.part('train-charts', (RTX) => {
  const ENDS = [200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000]  // of the axis of training steps
  const DEPTHS = [1e-36, 1e-60, 1e-150, 1e-290]  // of the axis of norms
  const NAMES_ROOM = 80
  const TICKS = [[0.5, '0.5'], [RTX.BASELINE, '1/6'], [0.05, '0.05'], [0.01, '0.01'], [0.003, '0.003']]

  const PALE = 500  // steps of a recorded run that are drawn

  // draw(runs, old, length, ghosts): the runs of now, thick and named, the earlier ones, thin, and recorded ones, pale,
  // of cells that have not trained yet. An axis grows with what it holds. gradients: false leaves out the second chart.
  function trainCharts(length, gradients = true) {
    const errors = RTX.chart({
      alt: '', right: NAMES_ROOM, x: {from: 0, to: ENDS[0], label: 'training step', ticks: RTX.linear(4)},
      y: {from: 0.002, to: 0.6, log: true, label: 'squared error', ticks: () => TICKS},
    })
    const norms = RTX.chart({
      alt: '', right: NAMES_ROOM, x: {from: 1, to: length, label: 'step t of the sequence', ticks: RTX.linear(4)},
      y: {from: DEPTHS[0], to: 1e3, log: true, label: 'norm of ∂L/∂hₜ', ticks: RTX.decades(7)},
    })
    function scale(all, length, pale) {
      const far = Math.max(pale ? PALE : 1, ...all.map((run) => run.steps))
      const least = Math.min(1, ...all.flatMap((run) => run.norms.filter((v) => v > 0)))
      move(errors, errors.x, 'to', ENDS.find((v) => v >= far) || far)
      move(norms, norms.x, 'to', Math.max(length, ...all.map((run) => run.length)))
      move(norms, norms.y, 'from', DEPTHS.find((v) => v <= least) || DEPTHS[DEPTHS.length - 1])
    }
    function move(chart, axis, end, value) {
      if (axis[end] === value) return
      axis[end] = value
      chart.frame()
    }
    function draw(runs, old, length, ghosts = []) {
      scale([...runs, ...old], length, ghosts.length)
      haunt(ghosts, runs)
      errors.line('base', [0, errors.x.to], [RTX.BASELINE, RTX.BASELINE], {cls: 'live-base'})
      const single = runs.length === 1 ? runs[0] : null  // of several, the unsmoothed errors would hide each other
      if (single) errors.line('raw', single.at, single.losses, {cls: `live-raw live-${single.kind}`})
      else errors.drop('raw')
      for (const run of [...old, ...runs]) {
        const current = runs.includes(run), cls = `live-${current ? 'now' : 'old'} live-${run.kind}`
        const name = current && run.steps ? RTX.trainWords.NAMES[run.kind] : ''
        errors.line(run.key, run.at, run.errors, {cls, name})
        norms.line(run.key, Array.from(run.norms, (_, t) => t + 1), run.norms, {cls, name})
        mark(run, cls)
      }
      errors.settle()
      norms.settle()
    }
    function haunt(ghosts, runs) {
      const gone = Object.keys(RTX.trainWords.NAMES).filter((kind) => !ghosts.some((one) => one.kind === kind))
      for (const kind of gone) for (const chart of [errors, norms]) chart.drop(`pale-${kind}`)
      for (const {kind, step, error, norms: last} of ghosts) {
        const cls = `live-pale live-${kind}`, many = step.filter((at) => at <= PALE).length
        const name = runs.some((run) => run.kind === kind && run.steps) ? '' : RTX.trainWords.NAMES[kind]
        errors.line(`pale-${kind}`, step.slice(0, many), error.slice(0, many), {cls, name})
        norms.line(`pale-${kind}`, last.map((_, t) => t + 1), last, {cls, name})
      }
    }
    // A stroke across the error's line, at the step at which the gradient opened: long before the line falls
    function mark({key, at, errors: all, events: {opened}}, cls) {
      const place = opened > 1 ? at.findIndex((step) => step >= opened) : -1
      if (place < 0 || !gradients) return
      errors.line(`${key}-mark`, [opened, opened], [all[place] / 1.4, all[place] * 1.4], {cls: `${cls} live-mark`})
    }
    function drop({key}) {
      errors.drop(key)
      errors.drop(`${key}-mark`)
      norms.drop(key)
    }
    const name = (words) => {
      errors.svg.setAttribute('aria-label', `Error against training steps. ${words}`)
      norms.svg.setAttribute('aria-label', `Norm of the gradient at every step of the sequence. ${words}`)
    }
    return {elements: gradients ? [errors.svg, norms.svg] : [errors.svg], draw, drop, name}
  }
  RTX.trainCharts = trainCharts
})
