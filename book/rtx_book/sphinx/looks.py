"""The directive ``looks``: the colour, the dashes and the marker of every model, as the figures draw them."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rtx_book.page.figure import show
from rtx_book.pictures.race import draw_looks
from rtx_lib.plots import LOOKS, style


class Looks(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        names = "; ".join(f"{family}: {', '.join(own)}" for family, own in LOOKS.items())
        said = f"Each model has a colour, a pattern of dashes and a marker of its own. {names}."
        with style():
            figure = show(draw_looks(), said)
        return [nodes.raw("", figure.data, format="html")]


def setup(app: Sphinx) -> None:
    app.add_directive("looks", Looks)
