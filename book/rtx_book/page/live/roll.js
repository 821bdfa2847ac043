// Tunes as lists of frames, a frame the keys that sound in it (0 is the lowest A of a piano): how a model goes on with
// one, which notes are held, what can be said about them, and how they sound.
RTX.part('roll', (RTX) => {
  const {sigmoid, softmax} = RTX
  const KEYS = 88, NAMES = ['A', 'B♭', 'B', 'C', 'C♯', 'D', 'E♭', 'E', 'F', 'F♯', 'G', 'A♭']
  const MELODY = 47  // from here on, G♯4, a note belongs to the melody; chords lie below
  const named = (key) => `${NAMES[key % 12]}${Math.floor((key + 9) / 12)}`
  const hertz = (key) => 440 * 2 ** ((key - 48) / 12)
  const vector = (frame) => {
    const x = new Float64Array(KEYS)
    for (const key of frame) x[key] = 1
    return x
  }

  // One frame from logits: every note by itself, with its probability; or, with one melody note, one note above the
  // chord by softmax and the chord's notes by themselves. random() is uniform.
  function frameOf(logits, random, temperature, one) {
    const top = one ? MELODY : KEYS, frame = []
    for (let key = 0; key < top; key++) if (random() < sigmoid(logits[key] / temperature)) frame.push(key)
    if (one) {
      const p = softmax(logits.slice(MELODY), temperature)
      let left = random(), key = 0
      while (key < p.length - 1 && (left -= p[key]) > 0) key++
      frame.push(MELODY + key)
    }
    return frame
  }

  // {key, from, to} of every note, a run of frames in which its key sounds, in order of time
  function notes(frames) {
    const found = [], open = new Map()
    frames.forEach((frame, t) => {
      for (const [key, note] of open) if (!frame.includes(key)) open.delete(key) && (note.to = t)
      for (const key of frame) if (!open.has(key)) {
        const note = {key, from: t, to: frames.length}
        open.set(key, note)
        found.push(note)
      }
    })
    return found
  }
  // The highest note of each frame where it changes, in words
  const melody = (frames) => frames.map((frame) => frame.length ? Math.max(...frame) : null)
    .filter((key, t, all) => key !== null && key !== all[t - 1]).map(named).join(', ')

  // Softly: at most `loud` of the full scale, however many notes there are. Returns {ends, stop}, seconds of the clock
  function sound(context, frames, pace, loud = 0.12) {
    const all = notes(frames), begin = context.currentTime + 0.05, out = context.createGain()
    const most = Math.max(1, ...frames.map((frame) => frame.length))
    out.gain.value = loud / most
    out.connect(context.destination)
    for (const {key, from, to} of all) {
      const tone = context.createOscillator(), swell = context.createGain(), a = begin + from * pace, z = begin + to * pace
      tone.type = 'triangle'
      tone.frequency.value = hertz(key)
      swell.gain.setValueAtTime(0, a)
      swell.gain.linearRampToValueAtTime(1, a + 0.02)
      swell.gain.exponentialRampToValueAtTime(0.3, Math.max(a + 0.03, z - 0.02))
      swell.gain.linearRampToValueAtTime(0, z)
      tone.connect(swell).connect(out)
      tone.start(a)
      tone.stop(z + 0.01)
    }
    return {begin, ends: begin + frames.length * pace, stop: () => out.disconnect()}
  }
  Object.assign(RTX, {roll: {KEYS, MELODY, named, hertz, vector, frameOf, notes, melody, sound}})
})
