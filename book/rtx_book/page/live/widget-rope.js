// "Pull the rope": a word, and noise before it is to be written back. One handle pulls the word, the other the noise, and
// every model writes what it still knows, beside the bytes that it holds.
RTX.part('widget-rope', (RTX) => {
  const {el, button, check, voice, BitReader, RopeLane, lettersOf, ropeLetter, ropeMost: MOST} = RTX
  const SLICE = 7, PAUSE = 900, PULL = 1600  // milliseconds
  const plural = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`
  const bytes = (n) => n < 1000 ? `${n} bytes` : `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} kB`
  const clamp = (v, most) => Math.max(0, Math.min(most, Math.round(v)))

  // options: word, pause: at first; trained: {word, pause}, the most of the training; lanes: {name: {model, look, carries,
  // and what RTX.BitReader is told}}, of which `carries` names the model that takes its place by the switch
  RTX.widget('rope', (body, {word: given = 'rope', pause = 0, trained = {word: 12, pause: 60}, lanes}, models) => {
    const random = RTX.random(7), noise = Array.from({length: MOST.pause}, () => 26 + random.below(8))
    const filler = Array.from({length: MOST.word}, () => random.below(26))
    const voiced = voice('live-aside')
    const now = {typed: [], word: null, letters: 0, pause, carries: false}

    // ---- the lanes
    const readers = new Map()
    function readerOf(name) {
      if (!readers.has(name)) readers.set(name, new RopeLane(new BitReader(models[name].weights, lanes[name]), noise))
      return readers.get(name)
    }
    const rows = Object.entries(lanes).filter(([, {hidden}]) => !hidden).map(([name, {look, carries}]) => {
      const letters = el('span', {className: 'rope-letters', 'aria-hidden': 'true'}), right = el('span', {className: 'rope-right'})
      const held = el('span', {className: 'rope-held'}), title = el('span', {}, name), aloud = el('span', {className: 'live-aside'})
      const line = el('svg', {class: `live-swatch ${look}`, viewBox: '0 0 28 14', 'aria-hidden': 'true'},
        el('path', {class: 'live-line', d: 'M0 7H28'}))
      const row = el('li', {className: 'rope-lane'}, el('span', {className: 'rope-name'}, line, title), letters, aloud, right, held)
      return {name, carries, title, letters, right, held, aloud, row, job: null, at: null}
    })
    const modelOf = ({name, carries}) => now.carries && carries || name
    function shown(lane, {said, bytes: held, word}) {
      const good = said.filter((id, i) => id === word[i]).length
      lane.letters.replaceChildren(...said.map((id, i) => el(id === word[i] ? 'span' : 's', {}, ropeLetter(id))))
      lane.right.textContent = `${good} of ${word.length}`
      lane.held.textContent = bytes(held)
      lane.aloud.textContent = `writes ${said.map(ropeLetter).join('')}, right: `
      lane.row.classList.remove('rope-busy')
    }
    let queue = [], frame = 0, saying = 0
    // All lanes write anew; those that are at it go on, towards what is wanted now
    function write() {
      clearTimeout(saying)
      if (!now.word.length) {
        queue = []
        for (const lane of rows) {
          for (const part of [lane.letters, lane.right, lane.held, lane.aloud]) part.textContent = ''
          lane.row.classList.remove('rope-busy')
          lane.job = null
        }
        voiced.say(note.textContent)
        return
      }
      for (const lane of rows) {
        lane.row.classList.add('rope-busy')
        if (lane.job && lane.job.word !== now.word) lane.job = null
        if (!queue.includes(lane)) queue.push(lane)
      }
      frame ||= requestAnimationFrame(slice)
    }
    function slice() {
      const end = performance.now() + SLICE
      frame = 0
      while (queue.length && performance.now() < end) {
        const lane = queue[0]
        lane.job ||= {word: now.word, steps: readerOf(modelOf(lane)).write(now)}
        const {done, value} = lane.job.steps.next()
        if (!done) continue
        lane.job = null
        queue.shift()
        shown(lane, value)
        if (value.pause !== now.pause) queue.push(lane)  // pulled on while it wrote
      }
      if (queue.length) frame = requestAnimationFrame(slice)
      else saying = setTimeout(tell, PAUSE)
    }
    const tell = () => voiced.say(`${plural(now.word.length, 'letter')}, ${plural(now.pause, 'symbol')} of noise. `
      + `${rows.map((lane) => `${modelOf(lane)} ${lane.right.textContent}`).join(', ')}.`)

    // ---- the rope
    function set(what, value) {
      const next = clamp(value, MOST[what])
      if (next === valueOf(what)) return
      if (what === 'pause') now.pause = next
      else cut(next)
      draw()
      write()
    }
    function cut(letters) {
      const word = [...now.typed, ...filler.slice(now.typed.length)].slice(0, letters)
      now.letters = letters
      if (String(word) !== String(now.word)) now.word = word
    }
    const rope = RTX.ropePicture({now, noise, trained, set, stop: () => stop()}), {draw, valueOf} = rope

    // ---- who does not drag: the rope is pulled in a second, or at once for who wants no motion
    let pulling = 0, goal = {}
    const stop = () => {
      cancelAnimationFrame(pulling)
      goal = {}
    }
    function pull(what, to) {
      stop()
      if (RTX.still()) { set(what, to); return }
      const from = valueOf(what), begun = performance.now()
      goal = {[what]: to}
      const on = () => {
        const t = Math.min(1, (performance.now() - begun) / PULL)
        set(what, from + (to - from) * t * t * (3 - 2 * t))
        if (t < 1) pulling = requestAnimationFrame(on)
        else goal = {}
      }
      on()
    }
    const end = (what) => () => pull(what, MOST[what])
    function release() {
      stop()
      cut(now.typed.length)
      now.pause = pause
      draw()
      write()
    }

    // ---- what the reader writes
    const note = el('p', {className: 'live-task rope-note'})
    const plain = {spellcheck: false, autocomplete: 'off', autocapitalize: 'off'}
    const field = el('input', {type: 'text', value: given, maxLength: 20000, oninput: read, ...plain})
    function read() {
      const {word, foreign, over} = lettersOf(field.value)
      stop()
      now.typed = word
      cut(word.length)
      note.textContent = !word.length ? 'Type a word: the letters a to z count.'
        : [foreign ? 'Only the letters a to z count.' : '', over ? `Only the first ${MOST.word} letters count.` : ''].join(' ').trim()
      note.hidden = !note.textContent
      draw()
      write()
    }
    const carries = check('Positions that carry over', false, (on) => {
      now.carries = on
      for (const lane of rows) if (lane.carries) {
        lane.title.textContent = modelOf(lane)
        lane.job = null
      }
      write()
    })
    // A link brings both handles where they are, or will be at the end of a pull
    const pulled = RTX.kept('pulled', () => {
      const {word: letters = now.letters, pause: noise = now.pause} = goal
      return letters === now.typed.length && noise === pause ? '' : `${letters}-${noise}`
    }, (text) => {
      const [, letters, noise] = /^(\d+)-(\d+)$/.exec(text) || [null, now.typed.length, pause]
      if (text && !(letters <= MOST.word && noise <= MOST.pause && `${+letters}-${+noise}` === text)) return false
      stop()
      cut(+letters)
      now.pause = +noise
      draw()
      write()
    })
    body.append(
      el('div', {className: 'live-buttons rope-buttons'}, el('label', {className: 'rope-field'}, el('span', {}, 'A word'), field),
        button('Pull the pause', end('pause')), button('Pull the word', end('word')), button('Let go', release)),
      note, rope.svg, el('ul', {className: 'rope-lanes'}, rows.map(({row}) => row)), carries, voiced.element, pulled)
    read()
    new ResizeObserver(() => requestAnimationFrame(rope.measure)).observe(body)
    rope.measure()
  })
})
