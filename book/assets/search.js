// The search page. MiniSearch ranks passages, the sections of the book's pages and the names of the library; shown is of each
// page the best one with the sentence that says it. PASSAGES come in a script of their own (book/rtx_book/sphinx/previews.py),
// the stemmer and the words that say nothing from Sphinx. No request goes out, so pages opened from files search alike.
/* global MiniSearch, Stemmer, URLSearchParams, stopwords */
{
  const CHAPTER = 'notebooks/', GLOSSARY = 'book/glossary', API = 'book/api/'
  const MOST = 40  // results shown
  const TITLE = 2  // times that a word of a title counts
  const WORTH = [[CHAPTER, 1.5], [GLOSSARY, 1.1], ['book/notation', 0.8], [API, 0.3], ['book/records', 0.3], ['', 0.7]]

  // ------------------------------------------------------------------------------------------------ words

  const {SIGNS, ALIASES, MEANT} = window.SEARCH_WORDS
  // What a chapter says last, or asks, is seldom the place that explains.
  const ASIDE = /^(References|What (came|became|comes)|Where (this|they) led|Exercise|Claim audit|-{4}|(Two|Three) guesses)/
  const NAMES = 'exp|log|ln|tanh|sin|cos|min|max|arg|det|diag|Pr|lim|softmax'
  // A formula in letters that a sentence can hold, or nothing where it is more than that.
  const spelled = (tex) => {
    const text = tex
      .replace(/\\(?:mathrm|mathbf|mathcal|mathbb|boldsymbol|operatorname|text|textrm|bar|hat|tilde)\s*\{([^{}]*)\}/g, '$1')
      .replace(/\\(?:left|right|big|Big|bigl|bigr|displaystyle|limits|!|;|,|:)(?![a-zA-Z])/g, ' ')
      .replace(/\\(?:quad|qquad)\b|~/g, ' ').replace(/\{,\}/g, ',').replace(/\\([%_&#{}])/g, '$1')
      .replace(/\\d?frac\s*(\w|\{[^{}]*\})\s*(\w|\{[^{}]*\})/g, '$1/$2')
      .replace(new RegExp(`\\\\(${NAMES})(?![a-zA-Z])`, 'g'), '$1')
      .replace(/\\([a-zA-Z]+)/g, (all, name) => SIGNS[name] ?? all)
      .replace(/([∂∇√∑∏]) /g, '$1')
      .replace(/\^(?:\{(-?\d+)\}|(\d))/g, (_, many, one) => [...(many ?? one)].map((digit) => HIGH['-0123456789'.indexOf(digit)]).join(''))
      .replace(/[{}]/g, '').replace(/\s+/g, ' ').trim()
    return text.includes('\\') || text.length > 60 ? null : text
  }
  const readable = (text) => text.replace(/\$([^$]*)\$/g, (_, tex) => spelled(tex) ?? '…')

  const HIGH = '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'
  const WORD = /[\p{L}\p{N}]+/gu
  const stemmer = new Stemmer(), stems = new Map()
  const stem = (word) => {
    if (!stems.has(word)) stems.set(word, /^[a-z]+$/.test(word) ? stemmer.stemWord(word) : word)
    return stems.get(word)
  }
  const fold = (text) => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')
  const words = (text) => (fold(text).match(WORD) ?? []).map(stem)
  // The words of a query, and those of them that say something
  function parted(query) {
    const all = [...new Set(fold(query).match(WORD) ?? [])]
    return {all, telling: all.filter((word) => !stopwords.includes(word) && !/^[a-z0-9]$/.test(word))}
  }

  // ------------------------------------------------------------------------------------------------ ranking

  let index = null
  function build() {
    const entries = window.PASSAGES.flatMap(([page, name, description, passages]) =>
      passages.map(([anchor, title, text, lead], place) => {
        const api = page.startsWith(API) && place > 0 && title.includes('.')
        return {page, name, description, anchor: place ? anchor : '', title, text: text.replace(/^Prerequisites:.*$/gm, ''), lead, api}
      }))
    entries.forEach((entry, id) => {
      Object.assign(entry, {id, titleWords: joined(words(entry.title)), textWords: joined(words(readable(entry.text)))})
    })
    const search = new MiniSearch({
      fields: ['name', 'title', 'text'],
      extractField: (entry, field) => (field === 'id' ? entry.id : readable(entry[field])),
      tokenize: (text) => fold(text).match(WORD) ?? [],
      processTerm: stem,
    })
    search.addAll(entries)
    index = {entries, search}
  }
  const joined = (list) => ` ${list.join(' ')} `

  function rank(asked) {
    const query = asked.replace(WORD, (word) => (Object.hasOwn(ALIASES, word.toLowerCase()) ? ALIASES[word.toLowerCase()] : word))
    const {all, telling} = parted(query)
    const wanted = [...new Set((telling.length ? telling : all.filter((word) => word.length > 1)).map(stem))]
    const {entries, search} = index, phrase = joined(wanted)
    const boostDocument = (id) => {
      const {page, title, titleWords, textWords} = entries[id]
      const said = (titleWords.includes(phrase) ? 2 : 0) + (wanted.length > 1 && textWords.includes(phrase) ? 1 : 0)
      return WORTH.find(([start]) => page.startsWith(start))[1] * (ASIDE.test(title) ? 0.4 : 1) * (1 + said)
    }
    const ask = (more) => search.search(wanted.join(' '), {
      boost: {title: TITLE}, boostDocument, tokenize: (text) => text.split(' '), processTerm: (word) => word, ...more,
    })
    // Words that no passage has together may be beginnings of others.
    let hits = ask({})
    if (hits.every(({queryTerms}) => queryTerms.length < wanted.length)) hits = ask({prefix: (word) => word.length > 2})
    const together = ({score, queryTerms}) => score * (queryTerms.length / wanted.length) ** 2
    const ofPage = {}
    for (const hit of hits) ofPage[entries[hit.id].page] = (ofPage[entries[hit.id].page] ?? 0) + together(hit)
    const meant = (page) => MEANT[page].some((one) => joined(words(one)) === phrase)
    const leads = new Set(Object.keys(MEANT).filter(meant))
    const found = hits.map((hit) => {
      const entry = entries[hit.id]
      const exact = entry.api ? /[_.]/.test(query) && `.${entry.title}`.endsWith(`.${query.trim()}`) : entry.titleWords === phrase
      if (exact && entry.lead) leads.add(entry.lead)
      return {...entry, exact, score: together(hit) + 0.6 * ofPage[entry.page]}
    })
    return {results: ordered(found, leads), wanted}
  }

  // One result a page, but of the glossary and the library one each. The chapter to which an entry of the glossary sends its
  // readers, else the best one, comes before that entry; names of the library come last, unless one was typed.
  function ordered(found, leads) {
    const best = new Map()
    for (const one of found) {
      const key = one.api || one.page === GLOSSARY ? `${one.page}#${one.anchor}` : one.page
      if (one.score > (best.get(key)?.score ?? -1)) best.set(key, one)
    }
    const chapters = [...best.values()].filter(({page}) => page.startsWith(CHAPTER)).sort((a, b) => b.score - a.score)
    const level = (one) => {
      if (leads.size ? leads.has(one.page) : one === chapters[0]) return 5
      if (one.exact && (one.page === GLOSSARY || one.api)) return one.api ? 6 : 4
      return one.page.startsWith(CHAPTER) ? 3 : one.page.startsWith(API) ? 1 : 2
    }
    return [...best.values()].sort((a, b) => level(b) - level(a) || b.score - a.score)
  }

  // ------------------------------------------------------------------------------------------------ results

  const SHORT = /(?:\b(?:et al|e\.g|i\.e|cf|vs|figs?|eqs?|secs?|no|pp?)|\b[A-Z])\.$/i, END = /[.!?:][”"’)]?$/
  function sentences(text) {
    const found = []
    for (const paragraph of text.split('\n')) {
      let open = ''
      for (const part of paragraph.split(/(?<=[.!?][”"’)]?)\s+(?=[\p{Lu}“"(\d$])/u)) {
        open = open ? `${open} ${part}` : part
        if (SHORT.test(open)) continue
        found.push(open)
        open = ''
      }
      if (open) found.push(open)
    }
    return found.filter((one) => /\p{L}/u.test(one))
  }

  // The sentence with most of the words, a whole one, with the next where both are short.
  function excerpt({anchor, text, description}, wanted) {
    const all = sentences(text).map(readable)
    const value = (sentence) => {
      const own = new Set(words(sentence))
      const hits = wanted.filter((word) => own.has(word) || [...own].some((other) => word.length > 3 && other.includes(word))).length
      const fragment = (END.test(sentence) ? 0 : 11) + (/^\p{Ll}/u.test(sentence) ? 4 : 0)
      return 10 * hits - fragment - (sentence.includes('…') ? 3 : 0) - (sentence.length > 300 ? 5 : 0)
    }
    const values = all.map(value), place = values.indexOf(Math.max(...values))
    if (!(values[place] > 0)) return (anchor && all.find((one) => END.test(one) && !one.includes('…'))) || description || all[0] || ''
    const next = all[place + 1] ?? '…'
    return all[place].length + next.length < 200 && END.test(next) && !next.includes('…') ? `${all[place]} ${next}` : all[place]
  }

  function marked(element, text, wanted) {
    let end = 0
    for (const match of text.matchAll(WORD)) {
      const own = words(match[0])[0] ?? ''
      if (!wanted.some((word) => own === word || (word.length > 3 && own.includes(word)))) continue
      element.append(text.slice(end, match.index))
      element.appendChild(document.createElement('span')).className = 'highlighted'
      element.lastChild.textContent = match[0]
      end = match.index + match[0].length
    }
    element.append(text.slice(end))
  }

  function show(query) {
    const box = document.getElementById('search-results')
    const add = (tag, kind, text) => Object.assign(box.appendChild(document.createElement(tag)), {className: kind, textContent: text})
    add('h2', '', 'Search Results')
    const summary = add('p', 'search-summary', '')
    const list = add('ul', 'search', '')
    build()
    const {results, wanted} = rank(query)
    for (const one of results.slice(0, MOST)) {
      const item = list.appendChild(document.createElement('li')), link = item.appendChild(document.createElement('a'))
      link.href = `${one.page}.html${one.anchor ? `#${one.anchor}` : ''}`
      link.textContent = one.api ? one.title : one.anchor ? `${one.name} > ${one.title}` : one.name
      const said = item.appendChild(document.createElement('p'))
      said.className = 'context'
      marked(said, excerpt(one, wanted), wanted)
    }
    const many = results.length, which = many > MOST ? `the best ${MOST} of ${many} results` : `${many} result${many > 1 ? 's' : ''}`
    summary.textContent = many
      ? `Search finished, found ${which} matching the search query.`
      : 'Your search did not match any documents. Please make sure that all words are spelled correctly.'
    // The page that is opened next marks the words, wherever they are a part of another (sphinx_highlight.js).
    const marks = parted(query).telling.filter((word) => word.length > 1)
    try { localStorage.setItem('sphinx_highlight_terms', marks.join(' ')) } catch { /* not kept, then */ }
  }

  addEventListener('DOMContentLoaded', () => {
    const query = new URLSearchParams(location.search).get('q')
    for (const field of document.querySelectorAll('input[name="q"]')) field.value = query
    if (query?.trim()) show(query)
  })
}
