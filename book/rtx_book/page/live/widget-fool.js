// "Fool it": the reader builds the shortest row of bits after which one trained model says wrongly whether the number of
// ones is odd, and another right. Pair and row are in the address (address.js), so that a link shows them.
RTX.part('widget-fool', (RTX) => {
  const {el, button, select, voice, BitReader, bitsOf, parities, firstAlone, Found, mostFool} = RTX
  const PAUSE = 500, WORD = ['even', 'odd'], TIMES = {1: '1', 2: '2', 4: '4', 8: '8', 16: '16', 32: '32'}
  const LOOK = {'deltanet-up-to-2': 'deltanet', 'rotary-transformer': 'transformer'}  // of variants, in live.css
  const slug = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  // 99.97 %: as many digits as tell it from certainty
  function sure(p) {
    const doubt = Math.max(Math.min(p, 1 - p), 1e-9), digits = Math.max(0, Math.ceil(-Math.log10(100 * doubt)))
    return `${(100 * (1 - doubt)).toFixed(digits)}\u00a0% sure`
  }
  // From 0, sure and wrong, to 100, sure and right, by the logarithm of the odds
  const place = (p) => Math.max(0, Math.min(100, 50 + 5 * Math.log((p + 1e-12) / (1 - p + 1e-12)))).toFixed(1)
  const some = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`

  // options: bits, what stands there at first, a text of 0 and 1; pair, the names of who is to be fooled and of who is
  // not; reads, by the name of a model the settings of RTX.BitReader; least, {fooled: {other: how few bits are enough, or
  // null}}, of all rows of up to `tried` bits. models: by their names.
  RTX.widget('fool', (body, {bits: given = '', pair, reads = {}, least = {}, tried = 0}, models) => {
    const names = Object.keys(models), voiced = voice()
    const readers = Object.fromEntries(names.map((name) => [name, new BitReader(models[name].weights, reads[name])]))
    const found = new Found(readers, RTX.foolStore()), offered = Object.fromEntries(names.map((name) => [slug(name), name]))
    let [fooled, other] = pair ?? names, bits = [], believed = {}, times = 1, saying = 0

    // ---- what the reader does
    const line = el('input', {type: 'text', className: 'fool-line', inputMode: 'numeric', spellcheck: false,
      autocomplete: 'off', autocapitalize: 'off', oninput: () => {
        const {bits: typed, fault} = bitsOf(line.value, mostFool)
        line.setAttribute('aria-invalid', String(Boolean(fault)))
        if (!fault) { read(typed); return }
        clearTimeout(saying)
        voiced.say(`${fault} The last valid input is shown.`)
      }})
    const put = (next) => {
      line.value = next.slice(0, mostFool).join('')
      line.setAttribute('aria-invalid', 'false')
      read(next.slice(0, mostFool))
    }
    const choose = (role, text) => select(text, offered, slug(role === 0 ? fooled : other), (value) => {
      const name = offered[value]
      if (role === 0) [fooled, other] = [name, name === other ? fooled : other]
      else [fooled, other] = [name === fooled ? other : fooled, name]
      show()
    })
    const who = [choose(0, 'Fool'), choose(1, 'but not')]
    const pick = (first, second) => {
      [fooled, other] = [first, second]
      show()
    }
    const add = (bit) => button(`Add ${bit}`, () => put([...bits, ...Array(times).fill(bit)]))
    const shorter = button('', () => {
      put(bits.slice(0, alone()))
      if (shorter.hidden) (copy.hidden ? line : copy).focus()
    })
    // What a link brings is, as what stood there at first, nobody's find
    const kept = RTX.kept('bits', () => bits.join(''), (text) => {
      const {bits: linked, fault} = bitsOf(text, mostFool)
      if (fault) return false
      given = linked.join('')
      put(linked)
    })
    const copy = button('Copy a link to this', share), address = el('input', {type: 'text', readOnly: true, hidden: true,
      className: 'fool-line', 'aria-label': 'The link, to be copied from here', 'data-unkept': ''})
    async function share() {
      const link = RTX.address.link(body)
      try {
        await navigator.clipboard.writeText(link)
        copy.textContent = 'Link copied'
        voiced.say(`The link is copied. ${told()}`)
      } catch {  // where a page may not write there
        address.value = link
        address.hidden = false
        address.select()
        voiced.say('Your browser does not let this page copy: take the link from the field.')
      }
    }

    // ---- what is seen: the row with what both said after every bit, their last answers, and what was found
    const tape = el('div', {className: 'fool-tape', role: 'img', onclick: ({target}) => {
      const at = [...tape.children].indexOf(target.closest('.fool-bit'))
      if (at >= 0) put(bits.map((bit, t) => t === at ? 1 - bit : bit))
    }})
    const cards = el('div', {className: 'fool-cards'}), goal = el('p', {className: 'fool-goal'})
    const table = el('table', {className: 'fool-board'})
    const swatch = (name) => el('svg', {
      class: `live-swatch live-${LOOK[slug(name)] || slug(name)}`, viewBox: '0 0 28 14', 'aria-hidden': 'true'},
      el('path', {class: 'live-line', d: 'M0 7H28'}))
    const last = (name) => bits.length ? believed[name].at(-1) : 0.5, right = (name) => last(name) >= 0.5
    const alone = () => bits.length ? firstAlone(believed[fooled], believed[other]) : 0
    const done = () => bits.length > 0 && !right(fooled) && right(other)

    function card(name) {
      const p = last(name), verdict = right(name) ? 'right' : 'wrong', odd = parities(bits).at(-1)
      const said = [' is ', el('b', {}, verdict), `: ${WORD[right(name) ? odd : 1 - odd]}, ${sure(p)}`]
      return el('div', {className: `fool-card ${bits.length ? `fool-${verdict}` : ''}`},
        el('p', {}, swatch(name), ' ', el('strong', {}, name), ...bits.length ? said : [' has read nothing.']),
        el('div', {className: 'fool-gauge', 'aria-hidden': 'true', style: `--p:${place(p)}%`}))
    }
    function draw() {
      const mark = (p) => el('i', {className: p < 0.5 ? 'fool-x' : '', style: `--p:${(100 * p).toFixed(0)}%`}, p < 0.5 ? '×' : '')
      tape.replaceChildren(...bits.map((bit, t) => el('span', {className: 'fool-bit'}, el('b', {}, String(bit)),
        mark(believed[fooled][t]), mark(believed[other][t]))))
      const wrongs = (name) => believed[name].flatMap((p, t) => p < 0.5 ? [t + 1] : []).slice(0, 12).join(', ') || 'none'
      const said = [fooled, other].map((name) => `${name} ${wrongs(name)}`).join('; ')
      tape.setAttribute('aria-label', `Bits: ${bits.join(' ') || 'none'}. Wrong after bit: ${said}.`)
      tape.scrollTop = tape.scrollHeight
      if (tape.scrollHeight > tape.clientHeight) tape.tabIndex = 0  // what scrolls takes the keyboard
      else tape.removeAttribute('tabindex')
      body.classList.toggle('fool-done', done())
      cards.replaceChildren(card(fooled), card(other))
    }
    function board() {
      const cell = (first, second) => {
        if (first === second) return el('td')
        const own = found.of(first, second)?.length, few = least[first]?.[second]
        const best = few ? `possible with ${few}` : `not possible with ${tried}`
        return el('td', {}, el('button', {
          type: 'button', className: own && own <= few ? 'fool-best' : '', onclick: () => pick(first, second),
          'aria-pressed': String(first === fooled && second === other),
          'aria-label': `Fool ${first} but not ${second}: ${own ? `yours ${own}` : 'not yet'}, ${best}`,
        }, own ? el('b', {}, String(own)) : null, el('small', {}, own ? ` of ${few ?? '?'}` : few ?? '?')))
      }
      const head = (scope, name) => el('th', {scope}, scope === 'row' ? [swatch(name), ' '] : null, name)
      const focused = [...table.querySelectorAll('button')].indexOf(document.activeElement)
      table.replaceChildren(
        el('thead', {}, el('tr', {}, ['fool ↓, but not →', ...names].map((name) => head('col', name)))),
        el('tbody', {}, names.map((first) => el('tr', {}, head('row', first), names.map((second) => cell(first, second))))))
      table.querySelectorAll('button')[focused]?.focus()
    }
    function told() {
      if (!bits.length) return 'No bits yet: type 0 and 1, or press a button.'
      const n = bits.length, few = least[fooled]?.[other], own = found.of(fooled, other)?.length
      const begins = `${some(n, 'bit')}, ${some(bits.filter(Boolean).length, 'one')}: ${WORD[parities(bits).at(-1)]}. `
      if (done()) {
        const best = own && own < n ? ` Your shortest has ${own}.` : ''
        const more = few ? `${few} are enough.` : `No row of up to ${tried} does it!`
        const enough = n === few ? 'No shorter row does it: all were tried.' : more
        return `${begins}${fooled} is fooled, ${other} is not.${best} ${enough}`
      }
      const both = right(fooled) ? `Both are right; ${fooled} is ${sure(last(fooled))}.` : 'Both are wrong, and that does not count.'
      const what = right(fooled) && !right(other) ? `Only ${other} is wrong: go on, or choose the two the other way round.` : both
      return `${begins}${what}${alone() ? ` After ${some(alone(), 'bit')} it was done.` : ''}`
    }
    function show() {
      [fooled, other].forEach((name, role) => { who[role].querySelector('select').value = slug(name) })
      const few = least[fooled]?.[other]
      goal.replaceChildren('Is the number of ones odd? Find the shortest row after which ', el('strong', {}, fooled),
        ' is wrong and ', el('strong', {}, other),
        ` is right. ${few ? `${some(few, 'bit')} ${few === 1 ? 'is' : 'are'} enough.` : `No row of up to ${some(tried, 'bit')} does it.`}`)
      shorter.hidden = !alone() || alone() === bits.length
      shorter.textContent = `Cut after ${some(alone(), 'bit')}`
      copy.textContent = 'Copy a link to this'
      copy.hidden = !RTX.address
      address.hidden = true
      draw()
      board()
      clearTimeout(saying)
      saying = setTimeout(() => voiced.say(told()), voiced.element.textContent ? PAUSE : 0)
    }
    function read(next) {
      bits = next
      believed = found.believed(bits)
      if (bits.join('') !== given) found.look(bits, believed)
      found.keep()
      show()
    }

    const how = select('times', TIMES, 1, (value) => { times = +value })
    how.querySelector('select').dataset.unkept = ''
    const keys = [add(1), add(0), how, button('Take one away', () => put(bits.slice(0, -1))), button('Clear', () => put([])), shorter, copy]
    body.append(el('div', {className: 'live-controls fool-pair'}, who), goal, tape,
      el('div', {className: 'live-buttons fool-keys'}, keys), address, cards, voiced.element,
      kept, el('label', {className: 'fool-field', 'data-unkept': ''}, el('span', {}, 'Bits'), line),
      el('div', {className: 'fool-box', tabIndex: 0, role: 'group', 'aria-label': 'Your shortest rows for each pair'}, table))
    put(bitsOf(given).bits)
  })
})
