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

// A section marked Further opens where a link or the search leads into it, and on paper.
const further = () => [...document.querySelectorAll("details.further:not([open])")];
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

// Whoever copies a formula gets its source.
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
