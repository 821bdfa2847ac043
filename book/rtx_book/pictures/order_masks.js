// Who sees whom, and what is asked, for `words` of which those in `order` are predicted: `streams` and `factors`.
(words, order) => {
const rank = words.map((_, place) => order.indexOf(place))
const query = rank.map((own) => rank.map((other) => own >= 0 && other < own))
const content = rank.map((_, i) => rank.map((other, j) => query[i][j] || other < 0 || i === j))
const asked = order.map((place) => `p(${words[place]} | ${words.map((word, j) => query[place][j] ? word : '▢').join(' ')})`)
return {query, content, asked}
}
