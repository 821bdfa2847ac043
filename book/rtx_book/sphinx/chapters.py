"""What a page does with a notebook's cells: the picture first, the code that drew it folded below it.

The notebooks keep the order in which they run. On the page

- the code before a chapter's first figure follows it, and is folded together with the code of the figure;
- a cell whose code is folded shows its output first;
- a copy of the live figure of the cell tagged ``opens`` stands before all of them: it needs what is trained on the way;
- the fold of a solution is called so;
- the exercise that nobody has answered yet does not say so;
- a control that needs a kernel is a fold.
"""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

CODE = ("Show the code", "Hide the code")
SOLUTION = ("Solution", "Solution")
KERNEL = ("In Jupyter and Colab: this as a widget",) * 2
NOT_ANSWERED = re.compile(r"^not answered yet\.?$", re.I)
FIGURE = re.compile(r'<figure class="book-fig|<div class="book-live|<img ')
IDS = re.compile(r'\bid="|url\(#|href="#')


class Cells(SphinxPostTransform):
    """Before myst-nb folds what is to be hidden (199), and after it has chosen among the forms of an output (4)."""

    default_priority = 150
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        if not self.env.docname.startswith("notebooks/"):
            return
        cells = [node for node in self.document.findall(nodes.container) if node.get("nb_element") == "cell_code"]
        for cell in cells:
            if "tag_exercise" in cell["classes"]:
                forget_the_unanswered(cell)
        figure_first(cells)
        panel_first(cells)
        for cell in cells:
            if (output := part(cell, "output")) is not None:
                set_in_lines(output)
            if "tag_live" in cell["classes"]:
                if (said := part(cell, "output")) is not None:
                    cell.remove(said)
                fold(cell, KERNEL)
            elif cell.get("hide_mode") == "input":
                fold(cell, CODE)
            elif cell.get("hide_mode") == "all":
                cell["prompt_show"], cell["prompt_hide"] = SOLUTION


def part(cell: nodes.Element, name: str) -> nodes.Element | None:
    """The cell's ``source`` or ``output``, where it has one."""
    return next((child for child in cell.children if child.get("nb_element") == f"cell_code_{name}"), None)


def raw_html(node: nodes.Node) -> str:
    """The HTML that stands as it is in a node, pictures included."""
    parts = [found.astext() for found in node.findall(nodes.raw)]
    return "".join([*parts, *("<img " for _ in node.findall(nodes.image))])


def forget_the_unanswered(cell: nodes.Element) -> None:
    """Take out the lines that only say that there is no answer, and the output if nothing else is in it."""
    output = part(cell, "output")
    if output is None:
        return
    for block in [*output.findall(nodes.literal_block)]:
        lines = block.astext().splitlines()
        kept = [line for line in lines if not NOT_ANSWERED.match(line.strip())]
        if len(kept) == len(lines):
            continue
        if "".join(kept).strip():
            block.rawsource = "\n".join(kept)
            block.children = [nodes.Text(block.rawsource)]
        else:
            block.parent.remove(block)
    if not output.astext().strip() and not raw_html(output):
        cell.remove(output)


def set_in_lines(output: nodes.Element) -> None:
    """Write printed results line by line, so that the style sheet can set in the rest of a line that a phone breaks."""
    for block in [*output.findall(nodes.literal_block)]:
        text = block.astext()
        if not {"stream", "text_plain"} & set(block["classes"]) or "\x1b" in text:
            continue  # with colours, or code
        lines = "".join(f'<span class="line">{html.escape(line)}\n</span>' for line in text.rstrip("\n").split("\n"))
        classes = " ".join([*block["classes"], "highlight-none", "notranslate"])
        page = f'<div class="{classes}"><div class="highlight"><pre>{lines}</pre></div></div>'
        block.parent.replace(block, nodes.raw("", page, format="html"))


def figure_first(cells: list[nodes.Element]) -> None:
    """Let a chapter's first figure stand where its first cell stands; what was before it is folded below it."""
    hero = next((c for c in cells if (out := part(c, "output")) is not None and FIGURE.search(raw_html(out))), None)
    if hero is None:
        return
    before = [cell for cell in cells[: cells.index(hero)] if cell.parent is hero.parent]
    place = hero.parent.index(hero)
    source, output = part(hero, "source"), part(hero, "output")
    for cell in reversed(before):
        cell.parent.remove(cell)
        place -= 1
        own_source, own_output = part(cell, "source"), part(cell, "output")
        if not hero.get("hide_mode") or cell.get("hide_mode") != "input":
            hero.parent.insert(place + 1, cell)  # open code stays open, behind the figure
            continue
        if source is not None and own_source is not None:
            source.children = [*own_source.children, *source.children]
            for child in own_source.children:
                child.parent = source
        if own_output is not None and output is not None:
            output.extend(own_output.children)


def panel_first(cells: list[nodes.Element]) -> None:
    """Open the page with a copy of the figure that the cell tagged ``opens`` made; its ids differ from the first's."""
    for cell in [own for own in cells if "tag_opens" in own["classes"]]:
        panel = IDS.sub(r"\g<0>opens-", raw_html(cell))
        place = next(child for child in cells[0].parent.children if child in cells)
        box = nodes.container(classes=["cell", "opens-cell"])
        box += nodes.container("", nodes.raw("", panel, format="html"), classes=["cell_output"])
        place.parent.insert(place.parent.index(place), box)


def fold(cell: nodes.Element, prompts: tuple[str, str]) -> None:
    """Put the cell's code into a fold below its output."""
    cell.attributes.pop("hide_mode", None)
    source = part(cell, "source")
    if source is None:
        return
    cell.remove(source)
    box = HideCodeCellNode(prompt_show=prompts[0], prompt_hide=prompts[1])
    box["classes"].append("code-fold")
    box += source
    cell += box


def visit_fold(self: Any, node: HideCodeCellNode) -> None:
    show, hide = (html.escape(node[f"prompt_{name}"]) for name in ("show", "hide"))
    said = show if show == hide else f'<span class="when-closed">{show}</span><span class="when-open">{hide}</span>'
    self.body.append(f'<details class="{" ".join(["hide", *node["classes"]])}"><summary>{said}</summary>\n')


def depart_fold(self: Any, node: HideCodeCellNode) -> None:
    self.body.append("</details>\n")


def setup(app: Sphinx) -> None:
    app.add_post_transform(Cells)
    # myst-nb's own calls every fold "Toggle hidden content" for a screen reader, whatever is written on it
    app.add_node(HideCodeCellNode, override=True, html=(visit_fold, depart_fold))
