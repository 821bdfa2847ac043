"""From executed notebooks to the site: a staged tree, Jupyter Book over it, and one step that publishes."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from rtx_book.build import live_files, node
from rtx_book.build.execute import BuildError, add_files, installed_versions, notebooks_in_toc, read_notebook, source
from rtx_book.build.jupyter_book import check_jupyter_book, run_sphinx
from rtx_book.claims import findings
from rtx_book.claims.page import audit_bundle, bundle
from rtx_book.page.answer import SOLUTION
from rtx_book.records import measured
from rtx_book.records.records import load

HIDDEN = {"parameters", "injected-parameters", "bootstrap"}
WIDGET = "application/vnd.jupyter.widget-view+json"
# Stands where a cell tagged `live` draws its control: a page has no kernel to move it.
_NOTE = '<p class="live-note">In Jupyter or Colab this cell draws the control as a widget.</p>'
LIVE_NOTE = {"output_type": "display_data", "metadata": {}, "data": {"text/html": _NOTE}}
# What the pages load, from the packages of book/package.json to book/assets/vendor.
LIBRARIES = {
    "d3/dist/d3.min.js": "d3.min.js",
    "jquery/dist/jquery.min.js": "jquery.min.js",
    "mathjax/es5/output/chtml/fonts": "mathjax/output/chtml/fonts",
    "minisearch/dist/umd/index.js": "minisearch.js",
}


# ------------------------------------------------------------------------------------------------ staging


def clean_notebook(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """A copy fit for a page: no traces of the run, no dead widgets, no parameters or bootstrap cell."""
    page = json.loads(json.dumps(notebook))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    page["metadata"] = {"kernelspec": kernel, "language_info": {"name": "python"}}
    for cell in page["cells"]:
        tags = cell.get("metadata", {}).get("tags", [])
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k not in ("papermill", "execution")}
        if HIDDEN & set(tags):
            cell["metadata"]["tags"] = sorted({*tags, "remove-cell"})
        if cell["cell_type"] == "code":
            cell["source"] = re.sub(r"\A# @title .*\n", "", source(cell))  # what Colab and JupyterLab show of a fold
            outputs = [LIVE_NOTE] if "live" in tags else cell["outputs"]
            cell["outputs"] = [told_anew(output) for output in outputs if WIDGET not in output.get("data", {})]
    page["cells"] = [with_solution(cell) for cell in page["cells"]]
    return page


def with_solution(cell: dict[str, Any]) -> dict[str, Any]:
    """The cell that shows a solution as the page has it: the code that ran in place of the call, a text in a fold."""
    for output in cell.get("outputs", ()):
        if shown := output.get("data", {}).get(SOLUTION):
            if not shown["code"]:
                return {"cell_type": "markdown", "id": cell["id"], "metadata": {}, "source": shown["fold"]}
            said = {"output_type": "stream", "name": "stdout", "text": shown["said"]}
            return cell | {"source": shown["code"], "outputs": [said, *(o for o in cell["outputs"] if o is not output)]}
    return cell


def told_anew(output: dict[str, Any]) -> dict[str, Any]:
    """The output as the page shows it: rates and verdicts are of today's study, whenever the notebook ran."""
    data = output.get("data", {})
    if found := data.get(findings.MIME):
        found = findings.Finding(**found)
        study = findings.load_study()
        told = found.chapter in study.get("chapters", {})  # else the page of findings does not have it yet
        data = bundle(found, study, f"../book/findings.html#{found.id}" if told else None)
    elif chapter := data.get(findings.AUDIT):
        data = audit_bundle(chapter, "../book/results.html")
    else:
        return output
    return {**output, "data": {k: text for k, text in data.items() if k not in (findings.MIME, findings.AUDIT)}}


def without_paths(text: str, root: Path) -> str:
    """`text` with this machine's folders taken out: a page must not say where it was built."""
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/(?:ipykernel_\d+/\d+\.py|notebook-\w+|book-\w+)", "cell", text)
    text = text.replace(f"{root}/", "").replace(str(root), ".").replace(sys.prefix, ".venv")
    if data := os.environ.get("RTX_DATA"):
        text = text.replace(data, "$RTX_DATA")
    return text.replace(f"{Path.home()}/", "~/") if len(Path.home().parts) > 1 else text


def with_numbers(name: str, text: str, root: Path) -> str:
    """The Markdown `text` with the marked numbers out of the records: see book/rtx_book/records/measured.py."""
    if "data-record" not in text:
        return text
    try:
        return measured.filled(text, load(root / "book" / "results"))
    except ValueError as error:
        raise BuildError(f"{name}: {error}") from error


def pages(root: Path, executed: Path | None) -> dict[str, bytes]:
    """Content of the staged tree by path: settings, prose pages, extension, assets, records, notebooks, weights."""
    files = {name: (root / name).read_bytes() for name in ("_config.yml", "_toc.yml", "CITATION.cff")}
    for path in sorted((root / "book").rglob("*")):
        name = path.relative_to(root)
        private = any(part in ("__pycache__", "rtx_book") or part.startswith(".") for part in name.parts)
        if path.is_file() and not private:
            files[name.as_posix()] = path.read_bytes()
            if path.suffix == ".md":
                files[name.as_posix()] = with_numbers(path.name, path.read_text(encoding="utf-8"), root).encode()
    for path in notebooks_in_toc(root):
        copy = root / path if executed is None else executed / path.name
        if not copy.is_file():
            raise BuildError(f"{path} has not been executed: make notebooks")
        page = clean_notebook(read_notebook(copy))
        files |= live_files.take_out(page)
        for cell in page["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = with_numbers(path.name, source(cell), root)
        files[path.as_posix()] = without_paths(json.dumps(page, indent=1, ensure_ascii=False), root).encode()
    return files


def libraries(root: Path, build: Path) -> dict[str, bytes]:
    """The browser libraries by staged path; empty, with a warning, where there is no npm or it fails."""
    book, folder = root / "book", build / "npm"
    names = ("package.json", "package-lock.json", ".npmrc")
    key = hashlib.sha256(b"".join((book / name).read_bytes() for name in names)).hexdigest()
    mark = folder / "installed"
    if not (mark.exists() and mark.read_text() == key):
        npm = node.command("npm")
        if npm is None:
            print("Warning: npm is missing: MathJax, d3 and jquery come from their usual addresses; Sphinx searches.")
            return {}
        mark.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copyfile(book / name, folder / name)
        command = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if answer.returncode:
            print("Warning: npm ci failed; the pages will load their libraries from the usual addresses.")
            print(answer.stderr[-800:])
            return {}
        mark.write_text(key)
    found = {}
    for origin, target in LIBRARIES.items():
        start = folder / "node_modules" / origin
        for path in [start] if start.is_file() else sorted(p for p in start.rglob("*") if p.is_file()):
            found[Path("book/assets/vendor", target, path.relative_to(start)).as_posix()] = path.read_bytes()
    return found


def stage(files: Mapping[str, bytes], staged: Path) -> None:
    """Make the folder `staged` hold exactly `files`; what is the same already is not touched."""
    for path in [*staged.rglob("*")]:
        own = path.relative_to(staged)
        if path.is_file() and own.parts[0] != "_build" and own.as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = staged / name
        if not (path.is_file() and path.read_bytes() == content):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


# ------------------------------------------------------------------------------------------------ the site


def lighten(html: Path, modules: Path) -> None:
    """Set the formulas, and keep of styles and icons what the pages use (`lighten.js`); without npm they stay."""
    program = node.command("node")
    if program is None or not (modules / "mathjax").is_dir():
        return
    command = [*program, str(Path(__file__).with_name("lighten.js")), str(html), str(modules)]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode:
        raise BuildError(f"the pages cannot be made light: {answer.stderr[-800:]}")
    sheet, fonts = html / "_static" / "all.css", html / "_static" / "vendor" / "fontawesome" / "webfonts"
    css = sheet.read_text(encoding="utf-8")
    letters = ",".join(re.findall(r'content:"\\([ef][0-9a-f]{3})"', css))
    for font in fonts.glob("*.ttf"):
        options = [f"--unicodes={letters}", "--flavor=woff", "--layout-features="]
        subprocess.run([sys.executable, "-m", "fontTools.subset", str(font), *options], check=True)
        icons = base64.b64encode(font.with_suffix(".subset.woff").read_bytes()).decode()
        css = re.sub(rf"url\([^)]*{font.stem}\.woff2\)[^;}}]*", f"url(data:font/woff;base64,{icons})", css)
    sheet.write_text(css, encoding="utf-8")
    shutil.rmtree(fonts, ignore_errors=True)


def site_key(root: Path, files: Mapping[str, bytes]) -> str:
    """Hash of all that decides the site: staged files, the library (docstrings, scripts), packages, this script."""
    digest = hashlib.sha256("\n".join(installed_versions((root / "requirements.txt").read_text())).encode())
    for name in sorted(files):
        digest.update(name.encode() + hashlib.sha256(files[name]).digest())
    code = [*(root / "rtx_lib").rglob("*"), *(root / "book" / "rtx_book").rglob("*")]
    library = [path for path in code if path.suffix in (".py", ".js", ".css", ".jinja", ".yml", ".json")]
    add_files(digest, root, [*library, *root.glob("notebooks/*.ipynb")])
    return digest.hexdigest()


def publish(html: Path, root: Path, site: Path) -> None:
    """Copy the pages beside the site, then swap the two folders: the site is the old one or the new one."""
    new, old = site.with_name("site.new"), site.with_name("site.old")
    if old.exists() and not site.exists():
        old.rename(site)  # a swap was interrupted between its two steps
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(html, new, ignore=shutil.ignore_patterns(".buildinfo*", ".doctrees"))
    for path in (new / "_sources" / "notebooks").glob("*.ipynb"):  # the download button gives the clean notebook
        shutil.copyfile(root / "notebooks" / path.name, path)
    moved = Path(__file__).with_name("moved.html").read_text(encoding="utf-8")
    for path in root.glob("notebooks/[0-9][0-9]_*.ipynb"):  # a chapter's address before chapters bore names alone
        (new / "notebooks").mkdir(exist_ok=True)
        (new / "notebooks" / f"{path.stem}.html").write_text(moved.format(name=path.stem[3:]), encoding="utf-8")
    (new / ".nojekyll").touch()  # GitHub Pages would leave out folders that begin with an underscore
    if site.exists():
        site.rename(old)
    new.rename(site)
    shutil.rmtree(old, ignore_errors=True)


def build_site(root: Path, build: Path, executed: Path | None) -> None:
    """Stage, build and publish, unless the site there was made from exactly this."""
    check_jupyter_book(metadata.version("jupyter-book"))
    staged, site, mark = build / "staged", build / "site", build / "site.key"
    files = {**pages(root, executed), **libraries(root, build)}
    key = site_key(root, files)
    if site.is_dir() and mark.exists() and mark.read_text() == key:
        print("Site: unchanged")
    else:
        start = time.monotonic()
        stage(files, staged)
        html = run_sphinx(root, staged, build / "sphinx.log")
        lighten(html, build / "npm" / "node_modules")
        mark.unlink(missing_ok=True)
        publish(html, root, site)
        mark.write_text(key)
        print(f"Site: built in {time.monotonic() - start:.1f} s")
    print(f"Open {site / 'index.html'}")
