// "Ask four words": what a query asks, a key offers and a value says, as vectors of two numbers that the reader drags. The
// scores, the weights and the answer follow. With `maps` the words are dragged, and one head makes the three vectors of each.
RTX.part('widget-query', (RTX) => {
  const {el, button, check, radios, kept, voice, vectorPlane, mapped, asked} = RTX
  const short = (v) => String(+v.toFixed(1)).replace(/^-0$/, '0').replace('-', '−')
  const pair = (v) => `(${v.map(short).join(', ')})`
  const factor = (v) => v < 0 ? `(${short(v)})` : short(v)
  const power = (v) => v < 0.005 ? '0' : v < 10 ? v.toFixed(2) : v < 1000 ? v.toFixed(1) : Math.round(v).toLocaleString('en')

  // options: words; query, keys and values: of two numbers each; planes: two; questions: {text: query}. Or
  // maps: {q, v}, rows of what makes query and value out of a word, which is its own key; asks: the word that asks at first
  RTX.widget('query', (body, {words, query, keys: first, values: said, questions = {}, maps, asks = 0, planes}) => {
    const told = voice('live-aside'), [offered, given] = planes.map(vectorPlane)
    const start = () => ({keys: first.map((k) => [...k]), values: said.map((v) => [...v]), q: [...query]})
    const now = {...start(), asks, masked: false}
    const change = (list, j) => (at) => { list()[j] = at; show() }

    const ofKeys = words.map((word, j) => offered.add({name: word, look: 'query-cold', move: change(() => now.keys, j),
      about: maps ? `the word ${word}` : `key of ${word}`}))
    const ofQuery = offered.add({name: 'query', look: 'query-hot', about: 'query',
      move: maps ? null : (at) => { now.q = at; show() }})
    const ofValues = words.map((word, j) => given.add({name: word, look: 'query-cold', about: `value of ${word}`,
      move: maps ? null : change(() => now.values, j)}))
    const before = maps && given.add({name: 'before', look: 'query-old'}), after = maps && given.add({name: 'after', look: 'query-new'})
    const ofAnswer = given.add({name: 'answer', look: 'query-hot'})

    const cell = (name) => el('td', {className: name})
    const rows = words.map((word) => {
      const [key, score, e, weight, value] = ['query-pair', 'query-score', '', 'query-weight', 'query-pair'].map(cell)
      return {key, score, e, weight, value, row: el('tr', {}, el('th', {scope: 'row'}, word), key, score, e, weight, value)}
    })
    const heads = ['', maps ? 'key = word' : 'key k', maps ? 'q · k / √2' : 'q · k', 'power of e', 'weight', 'value v']
    const table = el('table', {className: 'query-table'}, el('thead', {}, el('tr', {}, heads.map((head) => head
      ? el('th', {scope: 'col'}, head) : el('td')))), el('tbody', {}, rows.map(({row}) => row)))
    const sum = el('p', {className: 'live-task'}), sums = el('p', {className: 'live-task'})

    function show() {
      const q = maps ? mapped(maps.q, now.keys[now.asks]) : now.q, seen = now.masked ? now.asks + 1 : words.length
      const values = maps ? now.keys.map((x) => mapped(maps.v, x)) : now.values
      const {scores, powers, weights, y} = asked(q, now.keys, values, {scale: maps ? Math.SQRT2 : 1, seen})
      words.forEach((word, j) => {
        const {key, score, e, weight, value, row} = rows[j], k = now.keys[j], open = j < seen
        key.textContent = pair(k)
        value.textContent = pair(values[j])
        const work = q.map((v, i) => `${factor(v)}·${factor(k[i])}`).join(' + ')
        score.replaceChildren(el('span', {className: 'query-work'}, maps ? `(${work}) / 1.41 = ` : `${work} = `), short(scores[j]))
        e.textContent = open ? power(powers[j]) : '0, hidden'
        weight.replaceChildren(el('i', {style: `width: ${60 * weights[j]}%`}), el('b', {}, weights[j].toFixed(2)))
        row.classList.toggle('query-asks', Boolean(maps) && j === now.asks)
        ofKeys[j](k, {weight: weights[j], say: `${pair(k)}: score ${short(scores[j])}, weight ${weights[j].toFixed(2)}`})
        ofValues[j](values[j], {weight: weights[j], say: `${pair(values[j])}: answer ${pair(y)}`})
      })
      ofQuery(q, {say: `${pair(q)}: ${best(weights)}`})
      ofAnswer(y)
      const terms = words.map((_, j) => `${weights[j].toFixed(2)} · ${pair(values[j])}`).join(' + ')
      sum.textContent = `Answer: ${terms} = ${pair(y)}.`
      if (maps) {
        const x = now.keys[now.asks], sumOf = x.map((v, i) => v + y[i]), word = words[now.asks]
        before(x, {weight: 0})
        after(sumOf)
        sums.textContent = `${word} asks ${pair(q)}. ${word} plus the answer: ${pair(x)} + ${pair(y)} = ${pair(sumOf)}.`
      }
      told.say(`Query ${pair(q)}: ${best(weights)}; the answer is ${pair(y)}.`, false)
    }
    sums.hidden = !maps
    const best = (weights) => [...words.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, 2)
      .map((j) => `${words[j]} ${weights[j].toFixed(2)}`).join(', ')
    function again() { Object.assign(now, start()); show() }
    const buttons = Object.entries(questions).map(([text, q]) => button(text, () => { now.q = [...q]; show() }))
    const asking = maps && radios('Which word asks?', {...words}, asks, (j) => { now.asks = +j; show() })
    const numbers = () => [...now.keys, ...maps ? [] : [...now.values, now.q]].flat()
    const moved = kept('vectors', () => String(numbers()) === String(begun) ? '' : numbers().join('_'), (text) => {
      const all = (text ? text.split('_') : begun).map(Number)
      if (all.length !== begun.length || !all.every((v) => Math.abs(v) <= 4)) return false
      const pairs = Array.from({length: all.length / 2}, (_, i) => all.slice(2 * i, 2 * i + 2))
      now.keys = pairs.splice(0, words.length)
      if (!maps) [now.values, now.q] = [pairs.splice(0, words.length), pairs[0]]
      show()
    }), begun = numbers()
    body.append(el('div', {className: maps ? 'live-controls' : 'live-buttons'}, asking,
      maps && check('hide later words', false, (on) => { now.masked = on; show() }), buttons, button('Start again', again)),
      el('div', {className: 'query-planes'}, offered.figure, given.figure), table, sum, sums, moved, told.element)
    show()
  })
})
