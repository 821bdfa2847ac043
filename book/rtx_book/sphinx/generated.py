"""The parts of pages that are made from files: the ledger, records, findings, speeds, mistakes, prerequisites.

In a page each is an empty fence, such as ``{speed} rnn``. A module of this package reads the files and says what there
is to tell, a template of ``templates`` says it in Markdown, and that takes the place of the fence before the page is
parsed. So a number can be neither mistyped nor stale. A file that is broken is an error of the build, which names it
and the fault.
"""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
from docutils import nodes
from docutils.utils.smartquotes import smartyPants
from markupsafe import Markup
from sphinx.application import Sphinx
from sphinx.util import logging

from rtx_book.claims.claims import as_roles
from rtx_book.paths import PACKAGE
from rtx_book.sphinx import findings, ledger, misconceptions, mistakes, prerequisites, records, speed

_MODULES = findings, ledger, misconceptions, mistakes, prerequisites, records, speed
CONTEXTS: dict[str, Callable[..., dict[str, Any]]]
CONTEXTS = {module.__name__.rpartition(".")[2]: module.context for module in _MODULES}
CONTEXTS |= {"mistakes-report": mistakes.context, "speed-machines": speed.machines}
"""By name what its template tells, from the book's folder and the argument in the fence, if it has one."""

FENCE = re.compile(rf"^```\{{({'|'.join(CONTEXTS)})\}} *(.*)\n```$", re.M)
logger = logging.getLogger(__name__)


def plain(text: str) -> str:
    """A text as Markdown that means nothing but itself."""
    return re.sub(r"([\\`*_{}\[\]<>$~|])", r"\\\1", text)


def smart(text: str) -> str:
    """A text of a table with the quotation marks and dashes that Sphinx gives to the text around."""
    return smartyPants(text, "qDe")


FILES = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
TEMPLATES = jinja2.Environment(
    loader=FILES, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
)
TEMPLATES.filters |= {"plain": lambda text: Markup(plain(text)), "smart": smart, "id": nodes.make_id}


def rendered(name: str, root: Path, *arguments: str) -> str:
    """The Markdown of a part."""
    return TEMPLATES.get_template(f"{name}.md.jinja").render(CONTEXTS[name](root, *arguments))


def as_page(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell of a notebook with the roles that its plain Markdown stands for."""
    return cell | {"source": as_roles("".join(cell["source"]))} if cell.get("cell_type") == "markdown" else cell


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Put what is made into a page's text, before it is parsed."""
    root = Path(app.confdir)
    if page.startswith("notebooks/"):
        source[0] = json.dumps(json.loads(source[0], object_hook=as_page))

    def part(fence: re.Match[str]) -> str:
        try:
            return rendered(fence[1], root, *fence[2].split())
        except ValueError as error:
            logger.error("%s: %s", fence[1], error, location=page)
            return ""

    source[0], count = FENCE.subn(part, source[0])
    files = map(root.glob, ("book/*.yml", "book/results/**/*.json*", "notebooks/*.ipynb"))
    for path in itertools.chain(*files, PACKAGE.glob("checks/**/*.*")) if count else ():
        app.env.note_dependency(str(path))


def setup(app: Sphinx) -> None:
    app.add_css_file("generated.css")
    app.connect("source-read", fill)
