"""The directive ``records``: tables with one row per recipe, made from the records in ``book/results``.

What stands on the page comes out of the files, so a number can be neither mistyped nor stale. A record that does
not follow the schema (``rtx_book.records.records.check``) is an error of the build, which names it and the fault.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rtx_book.records.records import PACKED, check, chosen, load, sources
from rtx_book.sphinx.tables import paragraphs, row, table
from rtx_book.words import padded

FOLDER = "book/results"
TRIALS = ("rate-", "trial-")  # the starts of the names of trials of learning rates
RATED = re.compile(r"(race|large|again)-.*-(0\.\d+|1|\de-\d+)")  # what has raced with a rate that it names
HOW = "python -m rtx_book run RECIPE --seed 0 1 2"
RACE = {
    "adding": "the adding problem",
    "copy": "copy memory",
    "digits": "digits",
    "text": "characters in windows",
    "stream": "characters as a stream",
    "chorales": "chorales",
    "parity": "parity",
    "recall": "recall",
    "selective": "selective copying",
}
# The tables of the page in their order, each with the start of its recipes' names.
GROUPS = (
    ("Recurrence: MNIST by rows", "row-mnist-"),
    ("Vanishing gradients: the adding problem, plain networks", "adding-"),
    ("Gates", "copy-|digits-|forget-bias-|depth-"),
    ("Gates and IndRNN: the adding problem over long distances", "long-|told-"),
    ("IndRNN and R-Transformer: MNIST by pixels", "pixel-mnist-"),
    ("Attention: number words", "numbers-(?!bytenet|convs2s)"),
    ("Positions: the symbol of so many steps ago", "lag"),
    ("Transformer: German number words, and characters", "german-|shakespeare-(?!stream|xl)"),
    ("R-Transformer: Nottingham tunes", "nottingham-"),
    ("R-Transformer: JSB chorales", "jsb-"),
    ("R-Transformer: Penn Treebank", "ptb-(?!char-xl)"),
    ("Transformer-XL", "shakespeare-(stream|xl)|ptb-char-xl"),
    ("In parallel: binary addition", "addition-"),
    ("In parallel: stories", "stories-"),
    ("In parallel: film reviews, and generated sentences", "sst2-|sentences-"),
    ("In parallel: number words", "numbers-(bytenet|convs2s)"),
    ("Pre-training", "bert-|gpt-|elmo-"),
    ("Pre-training: fine-tuning", "few-"),
    ("Pre-training: who sees what, and looking up", "symbol-|look-up-"),
    ("Orders and units: pairs of words", "pairs-"),
    ("Orders and units: what is hidden together", "atlas-|conll2000-"),
    ("Orders and units: tasks told in words", "lines-"),
    ("Recurrence returns: parity, and words of S3", "parity-|s3-"),
    ("Recurrence returns: recall", "mqar-|state-"),
    ("Recurrence returns: selective copying", "selective-"),
    *((f"The race: {about}", f"race-{task}-") for task, about in RACE.items()),
    ("The race: four times as large", "large-"),
    ("The race: fresh seeds", "again-"),
)
REST = "Other runs"


def read_records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The records in `folder` by recipe, ordered by seed; `ValueError` names one that is none and says why."""
    found = load(folder, plain=False)
    for recipe, records in found.items():
        for record in records:
            check(record, f"{recipe}-s{record['seed']}")
    return {recipe: found[recipe] for recipe in sorted(found, key=order)}


def order(recipe: str) -> list[tuple[int, str]]:
    """A key that sorts the digits in a name as numbers: t50 before t100."""
    parts: list[str] = [""]
    for letter in recipe:
        if parts[-1] and letter.isdigit() != parts[-1][-1].isdigit():
            parts.append("")
        parts[-1] += letter
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def grouped(recipes: Iterable[str]) -> dict[str, list[str]]:
    """The recipes by the title of their table, in the order of `GROUPS`; empty tables are left out."""
    found: dict[str, list[str]] = {title: [] for title in (*(title for title, _ in GROUPS), REST)}
    for recipe in recipes:
        found[next((title for title, start in GROUPS if re.match(start, recipe)), REST)].append(recipe)
    return {title: names for title, names in found.items() if names}


def metric_names(records: Iterable[dict[str, Any]]) -> list[str]:
    """The names of all metrics, in the order of their first appearance."""
    return list(dict.fromkeys(name for record in records for name in record["metrics"]))


def results(records: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each test metric, median and range over the seeds, and one for the runs that diverged."""
    said = []
    for name in metric_names(records):
        values = [record["metrics"][name] for record in records if name in record["metrics"]]
        spread = f" ({padded(min(values))} to {padded(max(values))})" if len(values) > 1 else ""
        said.append(f"{name} {padded(statistics.median(values))}{spread}")
    if steps := [record["diverged"]["step"] for record in records if record["diverged"]]:
        said.append(f"{len(steps)} of {len(records)} diverged, at step {', '.join(f'{step:,}' for step in steps)}")
    return said


def settings(record: dict[str, Any]) -> str:
    """How a recipe is trained, in a line."""
    chosen = record["configuration"]
    clip = f"clipped at {chosen['clip']:g}" if chosen.get("clip") else "not clipped"
    optimizer = {"adam": "Adam", "sgd": "SGD", "adamw": "AdamW"}.get(name := chosen.get("optimizer", "adam"), name)
    kept = f", kept where {chosen['keep_best']} was best on the validation split" if chosen.get("keep_best") else ""
    return f"Batches of {chosen['batch_size']}, {optimizer} with rate {chosen['lr']:g}, {clip}{kept}."


def cells(recipe: str, records: Sequence[dict[str, Any]], file: str) -> list[list[nodes.Node]]:
    """A recipe's row: what was trained, what came out, its size, and its seeds with a link to the `file` of records."""
    about = records[0]["configuration"].get("about") or recipe
    seeds = " ".join(f"{record['seed']}{'*' * record['commit'].endswith('-dirty')}" for record in records)
    baselines = [f"{padded(value)} ({name})" for name, value in records[0]["baselines"].items()]
    seconds = statistics.median(record["seconds"] for record in records)
    budget = (
        f"{records[0]['configuration']['steps']:,} steps",
        f"{records[0]['parameters']:,} parameters",
        f"{seconds:,.0f} seconds",
    )
    return [
        [
            nodes.paragraph("", "", nodes.literal("", recipe)),
            nodes.paragraph("", f"{about[0].upper()}{about[1:]}. {settings(records[0])}", classes=["about"]),
        ],
        paragraphs(results(records) or ["none"]),
        paragraphs(baselines or ["none"]),
        paragraphs(budget),
        [nodes.paragraph("", "", to_file(seeds, file))],
    ]


def to_file(text: str, file: str) -> nodes.reference:
    return nodes.reference("", text, refuri=file, internal=True, reftitle=f"records, {file.rpartition('/')[2]}")


HEAD = ("Recipe", "Test metric: median (range)", "Without learning", "Budget", "Seeds")  # a phone shows the first two


def section(title: str, *content: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", title), *content, ids=[nodes.make_id(f"records-{title}")], names=[])


def by_rate(title: str, text: str, found: dict[str, list[dict[str, Any]]], files: dict[str, str]) -> nodes.section:
    """Runs that only say which rate is better: a row for each model of a task, with all rates that it was run with."""
    lanes: dict[str, list[list[dict[str, Any]]]] = {}
    for recipe, records in found.items():
        rate = f"-{records[0]['configuration']['lr']:g}"
        lanes.setdefault(recipe.removesuffix(rate).removeprefix("rate-"), []).append(records)
    rows = []
    for lane, groups in lanes.items():
        groups.sort(key=lambda records: float(records[0]["configuration"]["lr"]))
        told = "; ".join(f"{records[0]['configuration']['lr']:g}: {judged(records)}" for records in groups)
        name = [nodes.paragraph("", "", nodes.literal("", lane))]
        rows.append(row([name, paragraphs([f"{groups[0][0]['configuration']['steps']:,}"]), paragraphs([told])]))
    head = ("Task and model", "Steps", "Rate: validation loss")
    links: list[nodes.Node] = []
    for file in sorted({files[recipe] for recipe in found}):
        sweep = file.rpartition("/")[2].removesuffix(PACKED)
        links += [nodes.Text(", " * bool(links)), to_file(sweep, file)]
    about = nodes.paragraph("", f"{text} Their records: ", *links, nodes.Text("."))
    return section(title, about, table(head, rows))


def judged(records: Sequence[dict[str, Any]]) -> str:
    """The validation loss by which a rate is judged, of several seeds the median, or that runs diverged."""
    losses: list[float] = []
    lost = sum(record["diverged"] is not None for record in records)
    metric = "mse" if any("mse" in row for record in records for row in record["evaluations"]) else "loss"
    for record in records:
        values = [row[metric] for row in record["evaluations"] if metric in row]
        if values and not record["diverged"]:
            losses.append(min(values) if record["configuration"].get("keep_best") else values[-1])
    said = [f"{metric} {padded(statistics.median(losses))}"] if losses else []
    if lost:
        said.append(f"{lost} of {len(records)} diverged" if len(records) > 1 else "diverged")
    return ", ".join(said) or "none"


TRIED = (
    "Trials of learning rates",
    "Short runs, one seed each, judged by the loss of the tested model on the validation split; they say nothing else. "
    "The models of the race came to their rates by them. Those of R-Transformer and Transformer-XL had theirs "
    "before: the trials show which rates around them would have done better.",
)
LOST = (
    "Finals of learning rates",
    "Whole runs of the race with three seeds, at the best rates of the trials, judged by the median of the loss on the "
    "validation split. Those that won are in the tables of the race.",
)


class Records(SphinxDirective):
    """All records, or a line that there are none. It takes no argument and stands at the end of a section."""

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.app.confdir) / FOLDER
        try:
            found = read_records(folder)
        except ValueError as error:
            raise self.error(f"records: {error}") from error
        for path in folder.rglob("*.json*"):
            self.env.note_dependency(str(path))
        if not found:
            return [nodes.paragraph("", "There are no records yet. To make one: ", nodes.literal("", HOW))]
        up = "../" * self.env.docname.count("/") + FOLDER
        files = {recipe: f"{up}/{file}" for recipe, file in sources(folder).items()}
        tried = {recipe: found.pop(recipe) for recipe in list(found) if recipe.startswith(TRIALS)}
        won = set(chosen(folder).values())
        lost = {recipe: found.pop(recipe) for recipe in list(found) if RATED.fullmatch(recipe) and recipe not in won}
        sections = []
        for title, recipes in grouped(found).items():
            rows = [row(cells(name, found[name], files[name]), ids=[f"recipe-{name}"]) for name in recipes]
            sections.append(section(title, table(HEAD, rows)))
        aside = [by_rate(*said, runs, files) for said, runs in ((LOST, lost), (TRIED, tried)) if runs]
        return [*sections, *aside]


def setup(app: Sphinx) -> None:
    app.add_directive("records", Records)
