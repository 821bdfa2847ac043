"""How long a chapter takes: counted from what stands on its page."""

from __future__ import annotations

import re

from docutils import nodes

WORDS_PER_MINUTE = 200
# In minutes.
EQUATION_LINE, FIGURE, CODE_LINE = 1 / 4, 1 / 2, 1 / 12
EXERCISE = {"Easy": 5, "Medium": 10, "Hard": 20, "An experiment": 15}
UNGRADED = 10
NUMBERED = re.compile(r"\d+[.:] ")


def inside(node: nodes.Node, name: str) -> bool:
    """Whether something of this class is around the node."""
    parent = node.parent
    while parent is not None:
        if name in parent.get("classes", []):
            return True
        parent = parent.parent
    return False


def words(doctree: nodes.document) -> int:
    """Words of the text, with titles and tables; not those of code, outputs, formulas and raw HTML."""
    apart = (nodes.literal_block, nodes.raw, nodes.comment, nodes.math_block, nodes.math)

    def is_prose(text: nodes.Text) -> bool:
        parent: nodes.Node | None = text.parent
        while parent is not None:
            if isinstance(parent, apart):
                return False
            parent = parent.parent
        return not inside(text, "cell_output")

    return sum(len(text.split()) for text in doctree.findall(nodes.Text) if is_prose(text))


def figures(doctree: nodes.document) -> int:
    """Pictures, explorers, films and models that run: one for each output that draws."""
    drawn = sum("<svg" in raw.astext() or "<figure" in raw.astext() for raw in doctree.findall(nodes.raw))
    return drawn + sum(1 for _ in doctree.findall(nodes.image))


def visible_code(doctree: nodes.document) -> int:
    """Lines of code that a reader sees without unfolding a cell, blank ones left out."""
    lines = 0
    for block in doctree.findall(nodes.literal_block):
        folded = inside(block, "tag_hide-input") or inside(block, "tag_hide-cell") or inside(block, "code-fold")
        if inside(block, "cell") and not folded and not inside(block, "cell_output"):
            lines += sum(bool(line.strip()) for line in block.astext().splitlines())
    return lines


def exercises(doctree: nodes.document) -> float:
    """Minutes for the exercises, by their grade: a title "Exercise 2: ..." with "Easy." in the line below it.

    A paragraph that begins with a number and a name in bold, under the title "Exercises", is one without a grade.
    """
    minutes = 0.0
    for title in doctree.findall(nodes.title):
        if re.match(r"Exercise \d+", title.astext()):
            text = "".join(block.astext() + " " for block in title.parent.children[1:2])
            minutes += next((value for grade, value in EXERCISE.items() if text.startswith(grade)), UNGRADED)
        elif title.astext().startswith("Exercises"):
            own = title.parent.findall(lambda node: isinstance(node, nodes.paragraph))
            first = [next((part for part in one.children if part.astext()), None) for one in own]
            bold = [part.astext() for part in first if isinstance(part, nodes.strong)]
            minutes += UNGRADED * sum(bool(NUMBERED.match(f"{name} ")) for name in bold)
    return minutes


def reading_time(doctree: nodes.document) -> tuple[float, float]:
    """Minutes to read the page, and minutes with its code and its exercises.

    Reading: 200 words a minute, a quarter of a minute for each line of a displayed formula, half a minute for each
    figure, however often its slider is moved. With the code: five seconds for each visible line. With the exercises:
    5, 10 or 20 minutes for an easy, medium or hard one, 15 for an experiment, 10 where nothing is said.
    """
    lines = sum(block.astext().count("\\\\") + 1 for block in doctree.findall(nodes.math_block))
    read = words(doctree) / WORDS_PER_MINUTE + EQUATION_LINE * lines + FIGURE * figures(doctree)
    return read, read + CODE_LINE * visible_code(doctree) + exercises(doctree)


def in_words(minutes: float) -> str:
    """A rough duration: "40 minutes", "an hour", "an hour and a half", "two hours and a half"."""
    if minutes < 55:
        rough = max(1, 5 * round(minutes / 5) if minutes > 12 else round(minutes))
        return f"{rough} minute{'s' * (rough > 1)}"
    halves = round(minutes / 30)
    hours = ("", "an hour", "two hours", "three hours", "four hours", "five hours", "six hours")
    if halves // 2 >= len(hours):
        return f"{round(minutes / 60)} hours"
    return hours[halves // 2] + " and a half" * (halves % 2)


def line(doctree: nodes.document) -> str:
    """What stands under a chapter's title."""
    read, whole = (in_words(minutes) for minutes in reading_time(doctree))
    return f"About {read} to read" + ("" if whole == read else f", {whole} with the code and the exercises")
