// Formulas as MathML: reads a JSON list of [TeX, is it displayed] and prints the list of MathML texts.
// node mathml.js FOLDER, the folder in which npm put the package mathjax.
const path = require("path");

const PACKAGES = ["ams", "boldsymbol", "mathtools", "newcommand"];

async function main() {
  const { init } = require(path.join(process.argv[2], "node_modules", "mathjax", "es5", "node-main.js"));
  const MathJax = await init({
    loader: { load: ["input/tex-base", ...PACKAGES.map((name) => `[tex]/${name}`)] },
    tex: { packages: { "[+]": PACKAGES }, tags: "none" },
  });
  const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"));
  process.stdout.write(JSON.stringify(formulas.map(([tex, display]) => MathJax.tex2mml(tex, { display }))));
}

main().catch((error) => {
  console.error(error.message || error);
  process.exit(1);
});
