"""Sections that a reader may leave out: ``## Further: NAME`` in a notebook is a heading with a fold below it.

The page says how long the section is. It is open without script and on paper, and opens where a link, the search or
the keyboard leads into it (book/assets/site.js). Its heading stays in the page's table of contents.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

MARK = "Further: "


class Fold(nodes.General, nodes.Element):
    """All of a section but its heading."""


class Further(SphinxPostTransform):
    default_priority = 160  # when the cells have the order of the page (150), and myst-nb has not folded any yet (199)
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for section in [*self.document.findall(nodes.section)]:
            title, *rest = section.children
            if title.astext().startswith(MARK):
                fold = Fold("", *rest, words=sum(len(one.astext().split()) for one in section.findall(nodes.paragraph)))
                section.children = [title]
                section += fold


def visit(self: Any, node: Fold) -> None:
    said = f"Read this section, about {max(10, round(node['words'], -1))} words"
    closed = "<script>document.currentScript.parentElement.open = false</script>"
    self.body.append(f'<details class="further" open><summary>{said}</summary>{closed}\n')


def depart(self: Any, node: Fold) -> None:
    self.body.append("</details>\n")


def setup(app: Sphinx) -> None:
    app.add_node(Fold, html=(visit, depart))
    app.add_post_transform(Further)
