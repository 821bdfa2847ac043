// "Look it up": pairs of a letter and its digit, then letters alone, which ask. Two layers of attention and nothing else
// answer, and two maps show at which place each place looks. The reader types, and takes a layer away.
RTX.part('widget-lookup', (RTX) => {
  const {el, check, button, more, voice, BitReader} = RTX
  const MOST = 64, PAUSE = 700, LEFT = 20, FOOT = 20, LEAST = 10, WIDEST = 14, FAINT = 0.005
  const LETTERS = 'abcdefghijklmnopqrstuvwxyz', DIGITS = '0123456789', GAP = /[\s,]/g
  const largest = (values) => values.indexOf(Math.max(...values))
  const percent = (v) => `${Math.round(100 * v)}\u00a0%`
  const count = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`
  const mean = (all) => all.reduce((sum, v) => sum + v, 0) / all.length

  // options: keys and values, how many there are; pairs, those of a sequence of the training; text, what stands there at
  // first. models: the one that answers, two layers of attention of one head.
  RTX.widget('lookup', (body, {keys = 26, values = 10, pairs = 8, text}, {model}) => {
    const reader = new BitReader(model.weights), said = voice(), chance = RTX.random(Date.now())
    const letters = LETTERS.slice(0, keys), digits = DIGITS.slice(0, values), signs = letters + digits
    const off = new Set(), now = {at: 0}
    let typed = [], asked = [], steps = [], saying = 0  // asked: of each question its place, and that of its digit

    // ---- what the reader types
    const field = el('input', {type: 'text', className: 'lookup-field', spellcheck: false, autocomplete: 'off',
      autocapitalize: 'off', maxLength: 2 * MOST, oninput: () => {
        const at = field.selectionStart, low = field.value.toLowerCase()
        if (low !== field.value) { field.value = low; field.setSelectionRange(at, at) }
        read(low)
      }})
    const put = (next) => { field.value = next; read(next) }
    function some(random, from, n) {
      const left = [...from]
      return Array.from({length: n}, () => left.splice(random.below(left.length), 1)[0])
    }
    // twice: the key that is said again, with another digit, is asked for last
    function drawn(random, twice) {
      const own = some(random, letters, pairs), given = some(random, digits, pairs), all = own.map((c, k) => c + given[k])
      const asked = some(random, own, pairs), again = asked.at(-1), before = given[own.indexOf(again)]
      if (twice) all.push(again + some(random, [...digits].filter((c) => c !== before), 1))
      return [...all, asked.join('')].join(' ')
    }
    const isDigit = (c) => digits.includes(c ?? ' ')
    function faultOf(all) {
      const other = all.find((c) => !signs.includes(c))
      const lone = all.findIndex((c, t) => isDigit(c) && (!t || isDigit(all[t - 1])))
      return !all.length ? 'Nothing is typed.'
        : all.length > MOST ? `At most ${MOST} letters and digits are read, not ${all.length}.`
        : other ? `Letters go from a to ${letters.at(-1)}, digits from 0 to ${digits.at(-1)}, and “${other}” is neither.`
        : lone >= 0 ? `A digit comes after its letter, and “${all[lone]}” at place ${lone + 1} comes after none.` : ''
    }

    // ---- the model reads
    function read(next) {
      const all = [...next.replace(GAP, '')], fault = faultOf(all), last = {}
      field.setAttribute('aria-invalid', String(Boolean(fault)))
      clearTimeout(saying)
      if (fault) { said.say(`${fault} The last valid input is shown.`); return }
      typed = all
      asked = []
      typed.forEach((c, t) => {
        if (isDigit(c)) last[typed[t - 1]] = t
        else if (!isDigit(typed[t + 1])) asked.push({at: t, right: last[c]})
      })
      now.at = asked.at(-1)?.at ?? typed.length - 1
      slider.max = typed.length
      run()
    }
    function run() {
      steps = reader.run(typed.map((c) => 1 + signs.indexOf(c)), {off: [...off]})
      for (const one of asked) {
        one.answer = digits[largest(steps[one.at].logits.subarray(1 + keys))]
        one.state = one.right === undefined ? 'never said' : one.answer === typed[one.right] ? 'right' : 'wrong'
      }
      show()
      clearTimeout(saying)
      saying = setTimeout(() => said.say(tell()), PAUSE)
    }
    function tell() {
      const known = asked.filter(({right}) => right !== undefined), never = asked.length - known.length
      const n = typed.filter(isDigit).length
      return `${count(n, 'pair')}, ${count(asked.length, 'question')}`
        + `${known.length ? `: ${known.filter(({state}) => state === 'right').length} of ${known.length} right` : ''}.`
        + `${never ? ` ${never} never said.` : ''}${n > pairs ? ` The training had ${pairs} pairs.` : ''}`
        + [...off].map((l) => ` Layer ${l + 1} is off.`).join('')
    }

    // ---- who looks where. A link of a layer: a place, and the place where the story has it look
    const weights = (l, t) => steps[t].layers[l].weights[0]
    const links = [() => typed.flatMap((c, t) => isDigit(c) ? [[t, t - 1]] : []),
      () => asked.flatMap(({at, right}) => right === undefined ? [] : [[at, right]])]
    const story = ['a digit looks at the letter before it', 'a question looks at its digit']
    function title(l) {
      const shares = links[l]().map(([t, s]) => weights(l, t)[s])
      return off.has(l) ? `Layer ${l + 1} is off: it adds nothing.`
        : `Layer ${l + 1}: ${story[l]}, ${shares.length ? percent(mean(shares)) : 'of which there is none'}.`
    }
    const sign = (t) => `“${typed[t]}”, place ${t + 1}`
    const goal = (l, t) => largest(weights(l, t))
    const looks = (l, t) => `${sign(goal(l, t))} (${percent(weights(l, t)[goal(l, t)])})`
    // The place to which layer 2 goes from the chosen one, and where layer 1 has been before; none if one of them is off
    const between = () => off.size ? -1 : goal(1, now.at)
    function says() {
      const {at} = now, one = asked.find((own) => own.at === at), via = between()
      const says = [0, 1].map((l) => `layer ${l + 1} ${off.has(l) ? 'is off' : `looks at ${looks(l, at)}`}`).join('; ')
      const why = via >= 0 && via < at ? `, where layer 1 has looked at ${looks(0, via)}` : ''
      const verdict = one && {right: 'which is right', wrong: `but “${typed[at]}” last had ${typed[one.right]}`,
        'never said': `though “${typed[at]}” never had a digit`}[one.state]
      return `At ${sign(at)}: ${says}${why}.${one ? ` It answers ${one.answer}, ${verdict}.` : ''}`
    }

    const maps = links.map((_, l) => {
      const svg = el('svg', {class: 'lookup-map', role: 'img', onclick: (event) => {
        const t = Math.floor((event.clientY - svg.getBoundingClientRect().top) / step())
        if (t < typed.length) look(t)
      }})
      const box = el('div', {className: 'lookup-box', tabIndex: 0, role: 'region', 'aria-label': `Layer ${l + 1}; scrolls`}, svg)
      return {svg, box, name: el('p', {className: 'lookup-title'})}
    })
    const step = () => Math.max(LEAST, Math.min(WIDEST, ((maps[0].box.clientWidth || 340) - LEFT - 2) / typed.length))
    function draw(l) {
      const {svg, box, name} = maps[l], {at} = now, n = typed.length, wide = step()
      const x = (s) => +(LEFT + s * wide).toFixed(1), y = (t) => +(t * wide).toFixed(1)
      const cell = (kind, t, s, opacity) =>
        el('rect', {class: `lookup-${kind}`, x: x(s), y: y(t), width: wide, height: wide, 'fill-opacity': opacity})
      const told = new Map(links[l]()), font = Math.min(13, wide + 1), mid = wide / 2 + 0.35 * font
      const label = (left, top, t, anchor, chosen) => el('text', {x: left, y: top, 'text-anchor': anchor, 'font-size': font,
        class: `${isDigit(typed[t]) ? '' : 'lookup-letter'}${chosen ? ' lookup-chosen' : ''}`}, typed[t])
      const to = off.has(l) ? at : goal(l, at), via = l === 0 ? between() : -1, rows = new Set(via < 0 ? [at] : [at, via])
      svg.setAttribute('viewBox', `0 0 ${x(n) + 2} ${y(n) + FOOT}`)
      svg.setAttribute('width', x(n) + 2)
      svg.replaceChildren(
        el('path', {class: 'lookup-ground', d: `M${LEFT} 0${typed.map((_, t) => `H${x(t + 1)}V${y(t + 1)}`).join('')}H${LEFT}z`}),
        ...[...rows].map((t) => el('path', {class: 'lookup-at', d: `M0 ${y(t)}H${x(t + 1)}V${y(t + 1)}H0z`})),
        ...typed.flatMap((_, t) => off.has(l) ? [] : Array.from(weights(l, t), (v, s) =>
          v < FAINT ? null : cell(told.has(t) ? 'told' : 'other', t, s, +v.toFixed(3))).filter(Boolean)),
        ...[...told].map(([t, s]) => cell('link', t, s)),
        ...typed.flatMap((_, t) => [label(LEFT - 5, y(t) + mid, t, 'end', rows.has(t)),
          label(x(t + 0.5), y(n) + 4 + 0.8 * font, t, 'middle', t === to && !off.has(l))]))
      name.textContent = title(l)
      svg.setAttribute('aria-label', `Who looks where. ${name.textContent}`)
      if (x(to) < box.scrollLeft || x(to + 1) > box.scrollLeft + box.clientWidth) box.scrollLeft = x(to) - box.clientWidth / 2
    }
    function show() {
      maps.forEach((_, l) => draw(l))
      words.textContent = says()
      slider.value = now.at + 1
      place.textContent = `${now.at + 1} of ${typed.length}`
      slider.setAttribute('aria-valuetext', words.textContent)
      const row = (name, fill) => el('tr', {}, el('th', {scope: 'row'}, name), asked.map((one) => fill(one)))
      const plain = (sign, at) => el('td', {className: at === now.at ? 'lookup-here' : ''}, el('b', {}, sign))
      table.replaceChildren(el('tbody', {}, row('asked', ({at}) => plain(typed[at], at)),
        row('said', ({right}) => plain(typed[right] ?? '–')),
        row('answer', ({answer, state}) => el('td', {className: `lookup-${state.replace(' ', '-')}`}, el('b', {}, answer),
          el('span', {}, ` ${state}`)))))
    }

    const table = el('table', {className: 'lookup-answers'}), words = el('p', {className: 'live-task'})
    const look = (t) => { now.at = t; show() }
    const slider = el('input', {type: 'range', min: 1, step: 1, autocomplete: 'off', 'aria-label': 'Place',
      oninput: () => look(slider.value - 1)})
    const place = el('output', {'aria-live': 'off'})
    const hint = el('p', {className: 'live-task', id: RTX.id('lookup')},
      'A letter with a digit behind it is a pair; a letter alone asks for its digit.')
    const key = el('p', {className: 'live-task'}, 'In a map each row looks at columns. Orange: the rows that its title counts; '
      + 'framed: where they should look. Press a row.')
    field.setAttribute('aria-describedby', hint.id)
    body.append(el('label', {className: 'lookup-label'}, el('span', {}, 'The sequence'), field),
      el('div', {className: 'lookup-top'},
        el('div', {className: 'lookup-box', tabIndex: 0, role: 'region', 'aria-label': 'Answers; scrolls'}, table),
        el('div', {className: 'live-buttons'}, button('New pairs', () => put(drawn(chance))),
          button('A key twice', () => put(drawn(chance, true))),
          [0, 1].map((l) => check(`Layer ${l + 1} off`, false, (on) => { off[on ? 'add' : 'delete'](l); run() })), said.element)),
      el('div', {className: 'live-charts'}, maps.map(({name, box}) => el('div', {}, name, box))),
      el('label', {className: 'live-range'}, el('span', {}, 'Place'), slider, place), words,
      more('How to read it', hint, key))
    put(text || drawn(RTX.random(0)))
    new ResizeObserver(() => requestAnimationFrame(show)).observe(body)
  })
})
