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

/* global Search */
// Sphinx 7 looks a word up as a property of an object, where "constructor" and "__proto__" find what every object has.
// Its tables lose what they inherit, except what it asks of them.
if (typeof Search !== "undefined") {
  const { setIndex } = Search;
  const bare = Object.assign(Object.create(null), { hasOwnProperty: Object.prototype.hasOwnProperty });
  Search.setIndex = (index) => {
    [index.terms, index.titleterms].forEach((table) => Object.setPrototypeOf(table, bare));
    setIndex(index);
  };
}

// A page opened from a file may not read another, so Sphinx shows no excerpts. What a link to the page says stands there
// then; DESCRIPTIONS come in a script of their own (book/rtx_book/sphinx/previews.py).
if (location.protocol === "file:")
  addEventListener("DOMContentLoaded", () => {
    const list = document.getElementById("search-results");
    if (!list) return;  // the theme loads this on every page
    const describe = (item) => {
      const [page, anchor] = item.querySelector("a").getAttribute("href").split("?")[0].split("#");
      const text = !anchor && window.DESCRIPTIONS?.[page.replace(/\.html$/, "")];
      if (text) item.appendChild(document.createElement("p")).textContent = text;
    };
    const look = (changes) => changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node.matches?.("li")).forEach(describe);
    new MutationObserver(look).observe(list, { childList: true, subtree: true });
  });
