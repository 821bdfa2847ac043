// "Let it go on": an R-Transformer continues a tune frame by frame. A piano roll shows it, a button plays it.
RTX.part('widget-tune', (RTX) => {
  const {el, range, radios, select, button, roll} = RTX
  const MORE = 64, MOST = 512, PACE = 0.16, SLICE = 12, OWN = 'own'
  const TEMPERATURES = [0.3, 0.5, 0.7, 0.8, 1, 1.2, 1.5], WINDOWS = [1, 2, 3, 4, 6, 8, 12], KEYBOARD = [51, 53, 55, 56, 58, 60, 62, 63]

  // options: tunes, lists of frames to begin with; heads and window of the model
  RTX.widget('tune', (body, {tunes, heads, window}, models) => {
    const model = new RTX.RTransformer(models.model.weights, {heads, window}), voice = RTX.voice(), random = RTX.random(Date.now())
    const now = {tune: '0', temperature: 0.8, one: true, window}
    let given = [], written = [], logits = null, working = 0, context = null, playing = null, ticking = 0

    // ---- the model
    function rest() {
      clearTimeout(working)
      working = 0
    }
    function begin() {
      stop()
      rest()
      given = now.tune === OWN ? [] : tunes[+now.tune]
      written = []
      own.hidden = now.tune !== OWN
      draw()
      tell()
    }
    function goOn() {
      stop()
      if (working || !given.length) {
        if (!given.length) voice.say('Play a few notes first.')
        return
      }
      const all = Math.min(MOST, written.length + MORE), queue = [...given, ...written]
      model.reset()
      model.window = now.window
      let at = 0
      const work = () => {
        const until = performance.now() + SLICE
        while (performance.now() < until) {
          if (at < queue.length) logits = model.read(roll.vector(queue[at++])).logits
          else if (written.length < all) {
            const frame = roll.frameOf(logits, random.uniform, now.temperature, now.one)
            written.push(frame)
            queue.push(frame)
          } else {
            working = 0
            draw()
            tell()
            return
          }
        }
        draw()
        working = setTimeout(work)
      }
      working = setTimeout(work)
    }

    // ---- the picture: what was given is outlined, what the model wrote is filled
    const svg = el('svg', {class: 'live-roll', role: 'img', preserveAspectRatio: 'none'})
    function draw() {
      const frames = [...given, ...written], count = Math.max(48, frames.length), keys = frames.flat()
      const low = Math.min(36, ...keys) - 1, high = Math.max(60, ...keys) + 1, tall = high - low
      svg.setAttribute('viewBox', `0 0 ${count * 6} ${tall * 6}`)
      const grid = []
      for (let key = low; key <= high; key++) {
        if (key % 12 === 3) grid.push(el('path', {class: 'live-octave', d: `M0 ${6 * (high - key)}H${6 * count}`}))
      }
      const bars = roll.notes(frames).map(({key, from, to}) => el('rect', {
        class: from < given.length ? 'live-given' : 'live-written', rx: 1,
        x: 6 * from + 0.6, y: 6 * (high - key) - 2.4, width: 6 * (to - from) - 1.2, height: 4.8,
      }))
      const edge = written.length ? el('path', {class: 'live-edge', d: `M${6 * given.length} 0V${6 * tall}`}) : null
      svg.replaceChildren(...grid, ...bars, ...(edge ? [edge] : []), needle)
      svg.setAttribute('aria-label', words())
    }
    const needle = el('path', {class: 'live-needle'})
    function words() {
      if (!given.length) return 'An empty piano roll.'
      const start = `Given: ${given.length} frames, on top ${roll.melody(given)}.`
      return written.length ? `${start} Written: ${written.length} frames, on top ${roll.melody(written)}.` : start
    }
    function tell() {
      if (!given.length) voice.say('Play a few notes to begin with, then press Continue.')
      else if (!written.length) voice.say(`${given.length} frames stand there. Press Continue, then Listen.`)
      else {
        const held = written.filter((frame, t) => frame.some((key) => (written[t - 1] || given.at(-1)).includes(key))).length
        const silent = written.filter((frame) => !frame.length).length
        const share = Math.round(100 * held / written.length), more = written.length > 32 ? ' …' : ''
        voice.say(`${written.length} frames written with windows of ${now.window}; in ${share} % of them a note is held on, `
          + `${silent} are silent. On top: ${roll.melody(written.slice(0, 32))}${more}`)
      }
    }

    // ---- the sound
    function stop() {
      playing?.stop()
      playing = null
      clearTimeout(ticking)
      needle.setAttribute('d', '')
      heard.textContent = 'Listen'
    }
    const heard = button('Listen', () => {
      if (playing) { stop(); return }
      const frames = [...given, ...written], AudioOf = globalThis.AudioContext || globalThis.webkitAudioContext
      if (!frames.length || !AudioOf) {
        voice.say(frames.length ? 'This browser plays no sound.' : 'There is nothing to hear yet.')
        return
      }
      context ||= new AudioOf()
      context.resume?.()
      playing = roll.sound(context, frames, PACE)
      heard.textContent = 'Stop'
      const tick = () => {
        const t = (context.currentTime - playing.begin) / PACE
        if (context.currentTime > playing.ends) { stop(); return }
        if (!RTX.still()) needle.setAttribute('d', `M${(6 * Math.max(0, t)).toFixed(1)} 0V900`)
        ticking = setTimeout(tick, 80)
      }
      tick()
    })

    // ---- the reader's own beginning: two frames a press, over nothing
    const own = el('div', {className: 'live-buttons live-keys', role: 'group', 'aria-label': 'Your own notes'},
      KEYBOARD.map((key) => button(roll.named(key), () => {
        rest()
        given = [...given, [key], [key]]
        written = []
        draw()
        voice.say(`${roll.named(key)}. ${given.length} frames stand there.`)
      })),
      button('Take back', () => { rest(); given = given.slice(0, -2); written = []; draw(); tell() }))
    const notes = () => now.tune === OWN ? given.filter((_, t) => t % 2).map(([key]) => KEYBOARD.indexOf(key)).join('') : ''
    const kept = RTX.kept('notes', notes, (text) => {
      if (text === notes()) return true
      if (now.tune !== OWN || !/^[0-7]{0,256}$/.test(text)) return false
      rest()
      given = [...text].flatMap((i) => [[KEYBOARD[i]], [KEYBOARD[i]]])
      written = []
      draw()
      tell()
    })

    const choices = Object.fromEntries([...tunes.map((_, i) => [i, `tune ${i + 1}`]), [OWN, 'your own notes']])
    body.append(  // what is heard and seen stands above the fold
      el('div', {className: 'live-buttons'}, select('Begin with', choices, now.tune, (value) => { now.tune = value; begin() }),
        button('Continue', goOn), heard, button('Start again', begin)),
      own, svg,
      el('div', {className: 'live-controls'},
        radios('A frame is drawn', {one: 'one melody note', free: 'each note by itself'}, 'one', (value) => { now.one = value === 'one' }),
        range('Temperature', TEMPERATURES, TEMPERATURES.indexOf(now.temperature), (value) => { now.temperature = value }).label,
        range('Window M', WINDOWS, WINDOWS.indexOf(window), (value) => { now.window = value },
          (value) => value === window ? `${value}, as in training` : String(value)).label),
      voice.element, kept)
    begin()
    new IntersectionObserver(([entry]) => { if (!entry.isIntersecting) stop() }).observe(body)
  })
})
