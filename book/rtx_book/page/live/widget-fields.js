// "Four fields": who is beyond the finish lines of two tasks. Every model is a point with its name; the reader chooses the
// tasks, and looks at a point for its numbers.
RTX.part('widget-fields', (RTX) => {
  const {el, select, voice} = RTX
  const SLOW = 450, three = (v) => String(+v.toPrecision(3)).replace('-', '−')
  const list = (all) => all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`

  // options: tasks {key: {name, label, line, rises}}; lanes {key: [name, colour]}; results {task: {lane: [median, low,
  // high, seeds beyond the line, seeds]}}; across and up, the two tasks at first
  RTX.widget('fields', (body, {tasks, lanes, results, across, up}) => {
    const now = {across, up, lane: null}, said = voice('live-aside')
    const names = Object.fromEntries(Object.entries(tasks).map(([key, {name}]) => [key, name]))
    const raced = (lane) => [now.across, now.up].every((task) => results[task][lane])
    const beyond = (task, lane) => {
      const [median] = results[task][lane], {line, rises} = tasks[task]
      return rises ? median >= line : median <= line
    }
    const place = (lane) => 2 * beyond(now.across, lane) + beyond(now.up, lane)  // 3: both
    // Filled where every seed is beyond the lines of its field, half filled where some are
    function mark(lane) {
      const own = [now.across, now.up].filter((task) => beyond(task, lane)).map((task) => results[task][lane])
      const share = own.length ? Math.min(...own.map(([, , , there, seeds]) => there / seeds)) : 0
      return el('svg', {viewBox: '0 0 14 14', width: 14, height: 14, 'aria-hidden': 'true', class: 'fields-mark'},
        share ? el('path', {d: share === 1 ? 'M7 1a6 6 0 0 1 0 12a6 6 0 0 1 0 -12z' : 'M7 1a6 6 0 0 1 0 12z'}) : null,
        el('circle', {cx: 7, cy: 7, r: 5.6}))
    }
    const points = Object.fromEntries(Object.entries(lanes).map(([lane, [name, colour]]) => [lane,
      el('button', {type: 'button', className: 'fields-point', style: `--own:${colour}`, onclick: () => look(lane),
        onpointerenter: ({pointerType}) => { if (pointerType === 'mouse') look(lane) }, onfocus: () => look(lane)},
      el('span', {}), name)]))
    const boxes = [0, 1, 2, 3].map((k) => {
      const head = el('p', {className: 'fields-head', id: RTX.id('field')}), own = el('div', {className: 'fields-points'})
      return {head, own, box: el('div', {className: `fields-box fields-${k}`, role: 'group', 'aria-labelledby': head.id}, head, own)}
    })
    const told = el('p', {className: 'live-task fields-told'}), out = el('p', {className: 'live-task fields-out'})

    function numbers(task, lane) {
      const [median, low, high, there, seeds] = results[task][lane], {name, label, line} = tasks[task]
      const span = low === high ? '' : ` (seeds from ${three(low)} to ${three(high)})`
      return `${name}: ${label} ${three(median)}${span}, ${there} of ${seeds} seeds beyond the line at ${three(line)}`
    }
    function look(lane) {
      if (!raced(lane)) return
      now.lane = lane
      for (const [key, point] of Object.entries(points)) point.classList.toggle('fields-here', key === lane)
      told.replaceChildren(el('strong', {}, lanes[lane][0]), `. ${numbers(now.across, lane)}. ${numbers(now.up, lane)}.`)
      said.say(told.textContent, false)
    }
    function show() {
      const from = new Map(Object.values(points).map((point) => [point, point.getBoundingClientRect()]))
      const [right, top] = [now.across, now.up].map((task) => names[task])
      const heads = ['Neither', `${top} alone`, `${right} alone`, 'Both']
      const held = boxes.map(() => [])
      for (const lane of Object.keys(lanes)) if (raced(lane)) held[place(lane)].push(lane)
      boxes.forEach(({head, own}, k) => {
        head.replaceChildren(heads[k], el('span', {}, ` ${held[k].length}`))
        own.replaceChildren(...held[k].map((lane) => {
          points[lane].firstChild.replaceChildren(mark(lane))
          return points[lane]
        }))
      })
      const missing = Object.keys(lanes).filter((lane) => !raced(lane)).map((lane) => lanes[lane][0])
      out.textContent = missing.length ? `Not raced on both: ${list(missing)}.` : ''
      out.hidden = !missing.length
      if (!RTX.still()) move(from)
      look([now.lane, ...held[3], ...held.flat()].find((lane) => lane && raced(lane)))
    }
    // Each point goes from where it was to where it is now
    function move(from) {
      for (const [point, before] of from) {
        if (!point.isConnected || !before.width) continue
        const after = point.getBoundingClientRect(), x = before.left - after.left, y = before.top - after.top
        if (x || y) point.animate([{transform: `translate(${x}px, ${y}px)`}, {transform: 'none'}], {duration: SLOW, easing: 'ease-in-out'})
      }
    }
    // A task stands at one side only: the other side takes over what was here
    function choose(side, other, task) {
      if (now[other] === task) {
        now[other] = now[side]
        choices[other].querySelector('select').value = now[other]
      }
      now[side] = task
      show()
    }
    const choices = {
      across: select('To the right:', names, across, (task) => choose('across', 'up', task)),
      up: select('Upwards:', names, up, (task) => choose('up', 'across', task)),
    }
    body.append(el('div', {className: 'live-controls fields-tasks'}, choices.across, choices.up),
      el('div', {className: 'fields'}, [1, 3, 0, 2].map((k) => boxes[k].box)), told, out, said.element)
    show()
  })
})
