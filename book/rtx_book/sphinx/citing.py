"""Who wrote the book and when, and how to cite it: out of CITATION.cff, the settings and git."""

import datetime
import functools
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pybtex.plugin
import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

UNNAMED = "The rtx_lib authors"
"""Stands in CITATION.cff and _config.yml until somebody is named; no page shows it as a name."""
CITE = "how-to-cite"


def git(folder: Path, *arguments: str) -> str:
    """What git prints; nothing where there is no git or no repository."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout if answer.returncode == 0 else ""


def days_of_change(folder: Path) -> dict[str, datetime.date]:
    """The day of the last commit of every file under `folder`, by path; empty without a repository."""
    day, days = None, dict[str, datetime.date]()
    for row in git(folder, "log", "--format=%x00%cs", "--name-only", "--relative").splitlines():
        if row.startswith("\0"):
            day = datetime.date.fromisoformat(row[1:])
        elif row and day:
            days.setdefault(row, day)
    return days


def today() -> datetime.date:
    """The day of the build, or that of SOURCE_DATE_EPOCH."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch.isdigit() else None
    return now.date() if now else datetime.date.today()


@functools.cache
def committed(folder: Path) -> dict[str, datetime.date]:
    """`days_of_change`, asked for once a build; empty where SOURCE_DATE_EPOCH names the day."""
    return {} if os.environ.get("SOURCE_DATE_EPOCH", "").isdigit() else days_of_change(folder)


def day_of(file: str) -> datetime.date:
    """The day on which a file was changed last: SOURCE_DATE_EPOCH if it is set, else git's, else the build's."""
    return committed(Path.cwd()).get(file, today())


def last_day() -> datetime.date:
    """The newest of these days among what the book shows."""
    own = (day for file, day in committed(Path.cwd()).items() if file.startswith(("book/", "notebooks/", "_")))
    return max(own, default=today())


def spelled(day: datetime.date) -> str:
    return f"{day.day} {day:%B %Y}"


def metadata(root: Path) -> dict[str, Any]:
    """CITATION.cff, whose dates stay text."""
    return yaml.load((root / "CITATION.cff").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def authors(cff: dict[str, Any]) -> list[str]:
    """Names for BibTeX: "Lovelace, Ada" for a person, "{The group}" for anybody else; none while nobody is named."""
    names = []
    for one in cff["authors"]:
        parts = [one[part] for part in ("family-names", "given-names") if part in one]
        if one.get("name") != UNNAMED:
            names.append(", ".join(parts) or f"{{{one['name']}}}")
    return names


def bibtex(cff: dict[str, Any], day: datetime.date, address: str) -> str:
    """The entry that a reader copies."""
    names = authors(cff)
    key = re.sub(r"\W", "", names[0].split(",")[0].split()[-1] if names else cff["title"].split(",")[0]).lower()
    by = " and ".join(names) or f"{{{UNNAMED}}}".replace("_", r"\_")
    fields = {"title": cff["title"], "author": by, "year": str(day.year), "month": day.strftime("%b").lower()}
    fields |= {"version": cff["version"], "url": address}
    written = {name: value if name == "month" else f"{{{value}}}" for name, value in fields.items() if value}
    rows = [f"  {name:<7} = {value}" for name, value in written.items()]
    return "@misc{" + key + str(day.year) + ",\n" + ",\n".join(rows) + "\n}"


class CiteBox(SphinxDirective):
    """The line with author, version and date, and the entry for BibTeX. It takes no argument."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.app.confdir)
        self.env.note_dependency(str(root / "CITATION.cff"))
        cff, day = metadata(root), last_day()
        shown = self.config.author if self.config.author != UNNAMED else ""
        said = f"{shown + '. ' if shown else ''}Version {cff['version']}, last changed on {spelled(day)}."
        entry = bibtex(cff, day, self.config.ogp_site_url)
        return [nodes.paragraph("", said), nodes.literal_block(entry, entry, language="bibtex")]


def sign(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Author, day and the way to the citation, in the footer of a page."""
    if context.get("author") == UNNAMED:
        context["author"] = ""
    if doctree is None:
        context["last_updated"] = None
        return
    context["last_updated"] = spelled(day_of(app.env.doc2path(pagename, base=False)))
    if app.builder.format == "html":
        home = app.builder.get_relative_uri(pagename, app.config.root_doc)
        context["theme_extra_footer"] = f'<a href="{home}#{CITE}">How to cite this book</a>'


def number(app: Sphinx, config: Config) -> None:
    """The version of the book."""
    config.version = config.release = metadata(Path(app.confdir))["version"]


def remember_plugins() -> None:
    """Let pybtex look up each of its styles once: for every citation it reads the metadata of all packages anew."""
    if not hasattr(pybtex.plugin._load_entry_point, "cache_info"):
        pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)


def setup(app: Sphinx) -> None:
    remember_plugins()
    app.add_directive("cite-box", CiteBox)
    app.connect("config-inited", number)
    app.connect("html-page-context", sign, priority=800)
