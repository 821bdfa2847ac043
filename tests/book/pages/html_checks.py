"""What every page's HTML must be like. Each check takes a page and returns its faults, one text each."""

import json
import re
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from bs4 import BeautifulSoup, Tag
from support import data
from support.helpers import ROOT

LARGEST_PAGE, LARGEST_EXPLORER = 2_500_000, 600_000
ORIGIN = "http://site.invalid/"
METADATA = re.compile(
    r'"papermill"\s*:|papermill-(?:record|error)|injected-parameters|ipykernel_\d|application/vnd\.jupyter\.widget'
)
ROLE = re.compile(r"\{(?:cite(?::\w+)?|eq|doc|ref|numref|term|math|func|class|mod|py:\w+)\}`?")


@dataclass(frozen=True)
class Page:
    """One HTML file of a site, by its path inside it."""

    site: Path
    name: str

    @cached_property
    def text(self) -> str:
        return (self.site / self.name).read_text(encoding="utf-8")

    @cached_property
    def soup(self) -> BeautifulSoup:
        return BeautifulSoup(self.text, "html.parser")

    @cached_property
    def ids(self) -> set[str]:
        named = [tag["id"] for tag in self.soup.find_all(id=True)]
        return {*named, *(tag["name"] for tag in self.soup.find_all("a", attrs={"name": True}))}

    @property
    def article(self) -> Tag:
        """The page's own content, without the theme's frame."""
        return self.soup.find("article") or self.soup.body or self.soup


class Pages(dict[str, Page]):
    """The HTML files of a site by name, each read and parsed once."""

    def __init__(self, site: Path) -> None:
        found = (path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts)
        files = (path for path in found if not re.match(r"\d\d_", path.name))  # those are old addresses
        super().__init__((name, Page(site, name)) for name in (path.relative_to(site).as_posix() for path in files))
        self.site = site


def one_h1(page: Page) -> list[str]:
    titles = [" ".join(h1.get_text().split()) for h1 in page.soup.find_all("h1")]
    return [] if len(titles) == 1 and titles[0] else [f"h1 headings: {titles}"]


def missing_alternatives(page: Page) -> list[str]:
    """Pictures of the article that a screen reader cannot name, and that axe-core takes for ornaments."""
    faults = [f"img with an empty alt: {str(img)[:120]}" for img in page.article.find_all("img", alt="")]
    for svg in page.article.find_all("svg"):
        hidden = svg.get("aria-hidden") == "true" or svg.find_parent(attrs={"aria-hidden": "true"})
        named = svg.get("role") == "img" and len(svg.get("aria-label", "").split()) > 1
        if not (hidden or named or svg.find_parent("svg")):
            faults.append(f"svg without role=img and aria-label: {str(svg)[:120]}")
    for figure in page.article.find_all("figure"):
        if not figure.find(["img", "svg", "iframe", "table", "pre"]):
            faults.append(f"figure without a picture: {str(figure)[:120]}")
    return faults


def broken_links(page: Page, pages: Pages) -> list[str]:
    """Addresses inside the site whose file or place does not exist."""
    faults = []
    for tag in page.soup.find_all(["a", "link", "script", "img", "source"]):
        address = tag.get("href") or tag.get("src")
        if address is None or address.startswith(("data:", "mailto:", "javascript:")):
            continue
        target, fragment = urldefrag(urljoin(ORIGIN + page.name, address))
        if not target.startswith(ORIGIN):
            continue
        if address.startswith("/"):
            faults.append(f"{address} leads to the host's top, which is not the book's")
            continue
        name = unquote(target.removeprefix(ORIGIN).split("?")[0])
        if name.endswith("/") or not name:
            name += "index.html"
        if not (pages.site / name).is_file():
            faults.append(f"{address}: no file {name}")
        elif fragment and name in pages and unquote(fragment) not in pages[name].ids:
            faults.append(f"{address}: nothing in {name} is called {fragment}")
    return faults


def machine_paths() -> list[str]:
    """Folders of this machine that no page may name."""
    folders = {str(ROOT), str(ROOT.resolve()), f"{tempfile.gettempdir()}/", sys.prefix, f"{Path.home()}/"}
    return sorted((folders | {data.CACHE}) - {"", "/", "//"})


def traces_of_the_build(text: str) -> list[str]:
    """Folders of this machine and what running the notebooks leaves behind, in any file of the site."""
    faults = []
    for folder in machine_paths():
        if folder in text:
            place = text.index(folder)
            faults.append(f"names a folder of the build: {text[max(0, place - 60) : place + 100]!r}")
    if found := METADATA.search(text):
        faults.append(f"trace of the run: {text[max(0, found.start() - 60) : found.end() + 60]!r}")
    return faults


def too_large(page: Page) -> list[str]:
    size = (page.site / page.name).stat().st_size
    faults = [f"{size / 1e6:.2f} MB, at most {LARGEST_PAGE / 1e6} MB"] if size > LARGEST_PAGE else []
    for figure in page.soup.select(".book-explorer, .book-film"):
        size = len(str(figure).encode())
        if size > LARGEST_EXPLORER:
            faults.append(f"an explorer of {size / 1000:.0f} kB, at most {LARGEST_EXPLORER // 1000} kB")
    return faults


def missing_preview(page: Page) -> list[str]:
    """What a search engine and a link preview show: title, description, picture."""
    faults = [] if page.soup.title and page.soup.title.get_text().strip() else ["no title"]

    def content(**attributes: str) -> str:
        tag = page.soup.find("meta", attrs=attributes)
        return (tag.get("content") or "") if tag else ""

    for name in ("description", "og:description"):
        text = content(name=name) if name == "description" else content(property=name)
        if len(text) < 20:
            faults.append(f"{name} is {text!r}")
        if "$" in text or ROLE.search(text):
            faults.append(f"{name} holds markup: {text!r}")
    picture = content(property="og:image")
    inside = re.sub(r"^https://[^/]+\.github\.io/[^/]+/", "", picture)
    if not inside or not (page.site / inside).is_file():
        faults.append(f"og:image is {picture!r}, which is no file of the site")
    return faults


def chapter_faults(page: Page) -> list[str]:
    """Reading time, solutions folded away, numbered equations, citations."""
    faults = []
    article = page.article
    time = article.select_one(".reading-time")
    if not time or not re.search(r"\b\d+ minutes?\b", time.get_text()):
        faults.append("no reading time")
    cells = article.select(".cell.tag_hide-cell")
    if not cells:
        faults.append("no hidden solution")
    for cell in cells:
        details = cell.find("details")
        if details is None or details.has_attr("open"):
            faults.append(f"a solution that is not folded: {cell.get_text(' ', strip=True)[:80]!r}")
    numbers = [tag.get_text() for tag in article.select(".math .eqno")]
    numbers = [re.sub(r"[^\d.()]", "", number) for number in numbers]
    if not numbers or len(set(numbers)) != len(numbers) or not all(re.search(r"\d", n) for n in numbers):
        faults.append(f"equation numbers: {numbers}")
    if not article.select("a.reference[href*='references.html#']"):
        faults.append("cites nothing")
    return faults


def unresolved(page: Page) -> list[str]:
    """Roles, citations and references that reached the reader as markup or as a question mark."""
    article = BeautifulSoup(str(page.article), "html.parser") if "{" in page.text or "?" in page.text else page.article
    for tag in article.find_all(["pre", "code", "script", "style", "svg"]):
        tag.decompose()
    text = article.get_text(" ")
    faults = [f"markup: {text[found.start() : found.end() + 40]!r}" for found in ROLE.finditer(text)]
    faults += [f"unresolved: {found!r}" for found in re.findall(r"\[\?+\]|\(\?\?+\)", text)]
    for link in article.select("a[href*='#equation-']"):
        if "headerlink" not in link.get("class", []) and not re.search(r"\d", link.get_text()):
            faults.append(f"reference to an equation without its number: {link.get_text()!r}")
    return faults


def download_faults(page: Page, tree: Path) -> list[str]:
    """The download button gives the notebook of the repository, without outputs."""
    links = {tag["href"] for tag in page.soup.select("a.btn-download-source-button")}
    targets = [Path(page.site, page.name).parent / link for link in links if link.endswith(".ipynb")]
    if len(targets) != 1:
        return [f"download buttons: {sorted(links)}"]
    if not targets[0].is_file():
        return [f"no file for the download button: {sorted(links)}"]
    given = json.loads(targets[0].read_text(encoding="utf-8"))
    own = json.loads((tree / page.name).with_suffix(".ipynb").read_text(encoding="utf-8"))
    return [] if given == own else ["the download button gives another notebook than the repository's"]


def repository_links(page: Page) -> list[str]:
    """Links of the theme's buttons that lead to a repository or a service that runs notebooks."""
    marks = ("colab.research.google.com", "mybinder.org", "btn-source-", "OWNER/REPOSITORY")
    named = {(a["href"], f"{a['href']} {' '.join(a.get('class', []))}") for a in page.soup.find_all("a", href=True)}
    return sorted({address for address, text in named if any(mark in text for mark in marks)})


def launch_faults(page: Page, tree: Path, address: str) -> list[str]:
    """The Colab button opens this very notebook, which exists in the repository; its own button opens that."""
    repository = address.removeprefix("https://github.com/")
    links = repository_links(page)
    path = page.name.removesuffix(".html") + ".ipynb"
    wanted = f"https://colab.research.google.com/github/{repository}/blob/main/{path}"
    colab = [link for link in links if "colab.research.google.com" in link]
    faults = [] if colab == [wanted] else [f"Colab buttons: {colab}, must be {wanted}"]
    if not (tree / path).is_file():
        faults.append(f"the repository has no {path}")
    if address not in links:
        faults.append(f"no button leads to {address}: {links}")
    return faults + [f"leads to no repository: {link}" for link in links if "OWNER/REPOSITORY" in link]
