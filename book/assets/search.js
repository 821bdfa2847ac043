// How the search page ranks what it found: chapters, then the other pages of the book, then the library's. An entry of
// the glossary follows the chapter that it sends its readers to, which an entry of the index puts first.
// Sphinx puts this before its own script, which hands over each result (html_search_scorer).
const RANKS = [
  [/^notebooks\//, 200],
  [/^book\/glossary#/, 240],
  [/^book\/api(\/|#|$)/, 0],
  [/./, 100],
];

// eslint-disable-next-line no-unused-vars, no-var -- the name that Sphinx looks for
var Scorer = {
  score: ([page, , anchor, , score]) => score + RANKS.find(([pattern]) => pattern.test(page + anchor))[1],
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
