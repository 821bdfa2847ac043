// The theme drops the keyboard's focus after its theme button was pressed; give it back. (detail 0: no mouse.)
document.addEventListener("click", (event) => {
  const button = event.target.closest(".theme-switch-button");
  if (button && event.detail === 0) setTimeout(() => button.focus());
});

// A guess: what was clicked first is marked, and said again where the guess is settled. It is kept nowhere else.
document.addEventListener("click", (event) => {
  const answer = event.target.closest(".guess summary")?.parentElement;
  const name = answer?.getAttribute("name");
  if (!name || document.querySelector(`.guess details.guessed[name="${name}"]`)) return;
  answer.classList.add("guessed");
  for (const said of document.querySelectorAll(`.guess-said[data-guess="${name}"]`))
    said.textContent = ` You said: \u201c${answer.querySelector("summary").textContent.trim()}\u201d. `;
});

// Paper is white: whoever reads in the dark theme prints in the light one.
addEventListener("beforeprint", () => {
  const page = document.documentElement;
  if (page.dataset.theme !== "dark") return;
  page.dataset.theme = "light";
  addEventListener("afterprint", () => (page.dataset.theme = "dark"), { once: true });
});

// A section marked Further, or the audit of claims, opens where a link or the search leads into it, and on paper.
const further = () => [...document.querySelectorAll("details:is(.further, .book-audit):not([open])")];
for (const when of ["load", "hashchange"])
  addEventListener(when, () => {
    const target = document.querySelector(":target");
    const wanted = (fold) =>
      fold.querySelector("span.highlighted") || (target && (fold.parentElement === target || fold.contains(target)));
    const folds = further().filter(wanted);
    for (const fold of folds) fold.open = true;
    if (folds.length) target?.scrollIntoView();
  });
// Opens what is closed before it is printed, and closes the same afterwards
function onPaper(closed) {
  addEventListener("beforeprint", () => {
    const folds = [...closed()];
    for (const fold of folds) fold.open = true;
    addEventListener("afterprint", () => folds.forEach((fold) => (fold.open = false)), { once: true });
  });
}
onPaper(further);

// After a search sphinx_highlight.js marks words in every text below the body: not in a style sheet, and in no picture.
addEventListener("DOMContentLoaded", () => {
  for (const unmarked of document.querySelectorAll("body :is(style, script, svg :is(text, tspan, title, desc))"))
    unmarked.classList.add("nohighlight");
});

// One switch for all code of a page, kept for the next one: as the page has it, all open, or each piece in a fold.
// Without a script the page stays as it is: what is told stands open, what draws figures in folds.
const CODE = { main: "main parts", all: "all", none: "folded" };
function foldCode(state) {
  const open = state === "none" ? document.querySelectorAll(".bd-article div.cell > div.cell_input") : [];
  for (const code of open) {
    const fold = document.createElement("details");
    fold.className = "hide code-fold told";
    fold.innerHTML =
      '<summary><span class="when-closed">Show the code</span><span class="when-open">Hide the code</span></summary>';
    code.replaceWith(fold);
    fold.append(code);
  }
  for (const fold of document.querySelectorAll(".bd-article details.code-fold"))
    fold.open = state === "all" || (state === "main" && fold.classList.contains("told"));
}
addEventListener("DOMContentLoaded", () => {
  const line = document.querySelector(".bd-article .reading-time");
  if (!line || !document.querySelector(".bd-article div.cell_input")) return;
  const label = document.createElement("label");
  label.className = "code-switch";
  const options = Object.entries(CODE).map(([state, said]) => `<option value="${state}">${said}</option>`);
  label.innerHTML = `code: <select autocomplete="off">${options.join("")}</select>`;
  const select = label.querySelector("select");
  try {
    if (localStorage.rtxCode in CODE) select.value = localStorage.rtxCode;
  } catch {
    // where nothing may be kept
  }
  select.onchange = () => {
    foldCode(select.value);
    try {
      localStorage.rtxCode = select.value;
    } catch {
      // where nothing may be kept
    }
  };
  line.append(label);
  if (select.value !== "main") foldCode(select.value);
  onPaper(() => (select.value === "none" ? document.querySelectorAll(".bd-article details.code-fold.told:not([open])") : []));
});

// The line with which a section's figure draws a model (live.css) stands before the first mention of its name.
const MODELS = {
  "tanh RNN": "rnn", IRNN: "irnn", LSTM: "lstm", GRU: "gru", IndRNN: "indrnn", QRNN: "qrnn", minGRU: "mingru", LRU: "lru",
  "RG-LRU": "rg-lru", S4D: "s4d", Mamba: "mamba", "Mamba-2": "mamba-2", RWKV: "rwkv", sLSTM: "slstm", mLSTM: "mlstm",
  "linear attention": "linear-attention", RetNet: "retnet", DeltaNet: "deltanet", "Gated DeltaNet": "gated-deltanet",
  TCN: "tcn", ByteNet: "bytenet", ConvS2S: "convs2s", "Neural GPU": "neural-gpu", "R-Transformer": "r-transformer",
  Transformer: "transformer", "Transformer-XL": "transformer-xl",
};
const NAMES = Object.keys(MODELS).sort((one, other) => other.length - one.length).join("|");
const NAMED = new RegExp(`(?<![\\w-])(${NAMES})(?![\\w-])`);
function nameModels(section) {
  const drawn = [...section.querySelectorAll(":scope > .cell figure.book-fig")].map((figure) => figure.textContent).join(" ");
  const said = new Set();
  const own = (node) => node.parentElement.closest("section") === section;
  const inProse = (node) => own(node) && node.parentElement.closest("p, li") && !node.parentElement.closest("a, code, .math, .cell");
  const walk = document.createTreeWalker(section, 4 /* texts */, (node) => (inProse(node) ? 1 : 2));
  while (walk.nextNode()) {
    const text = walk.currentNode;
    const found = NAMED.exec(text.data);
    if (!found) continue;
    const name = text.splitText(found.index);
    walk.currentNode = name.splitText(found[0].length).previousSibling;
    if (said.has(found[0]) || !said.add(found[0]) || !drawn.includes(found[0])) continue;
    const line = document.createElement("span");
    line.className = "model-name";
    line.innerHTML = `<svg class="live-${MODELS[found[0]]}" viewBox="0 0 36 8" aria-hidden="true"><path d="M0 4H36"/></svg>`;
    name.replaceWith(line);
    line.append(name);
    walk.currentNode = name;
  }
}
const LOOKS = new URL("live/live.css", document.currentScript.src).href;
addEventListener("DOMContentLoaded", () => {
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    near.disconnect();
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: LOOKS }));
    for (const section of document.querySelectorAll(".bd-article section:has(> .cell figure.book-fig)")) nameModels(section);
  }, { rootMargin: "600px" });
  for (const figure of document.querySelectorAll("figure[data-live]")) near.observe(figure); // as live-loader.js does
});

// A copied formula is its source.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (selection.isCollapsed || !event.clipboardData) return;
  const part = document.createElement("div");
  for (let place = 0; place < selection.rangeCount; place++) part.append(selection.getRangeAt(place).cloneContents());
  const formulas = part.querySelectorAll("mjx-container[data-tex]");
  if (!formulas.length) return;
  for (const formula of formulas) {
    const mark = formula.hasAttribute("display") ? "$$" : "$";
    formula.replaceWith(mark + formula.dataset.tex + mark);
  }
  event.clipboardData.setData("text/plain", part.textContent);
  event.preventDefault();
});
