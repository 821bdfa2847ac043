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
addEventListener("beforeprint", () => {
  const folds = further();
  for (const fold of folds) fold.open = true;
  addEventListener("afterprint", () => folds.forEach((fold) => (fold.open = false)), { once: true });
});

// One switch for all code of a page, kept for the next one: as the page has it, all open, or each piece in a fold.
// Without a script the page stays as it is: what is told stands open, what draws figures in folds.
const CODE = { main: "the main parts", all: "all of it", none: "folded away" };
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
  addEventListener("beforeprint", () => select.value === "none" && foldCode("main"));
  addEventListener("afterprint", () => foldCode(select.value));
});
