"""From notebooks to the site: `python book/build.py book|execute|site|epub|serve`.

execute  notebooks -> _build/executed        (book/execute.py: only what changed)
site     + book/, settings, browser libraries -> _build/staged, then jupyter-book -> _build/site
         (moved into place in one step; skipped when nothing changed)
book     both; serve shows _build/site on this machine, with any Python
epub     both too, but one file for an e-reader instead of the site: _build/book.epub (book/epub.py)
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

# What needs packages is imported where it is used.
ROOT = Path(__file__).resolve().parent.parent
HIDDEN = {"parameters", "injected-parameters", "bootstrap"}
WIDGET = "application/vnd.jupyter.widget-view+json"
# Stands where a cell tagged `live` draws its control: a page has no kernel to move it.
LIVE_NOTE = {
    "output_type": "display_data",
    "metadata": {},
    "data": {"text/html": '<p class="live-note">In Jupyter or Colab this cell draws the control as a widget.</p>'},
}
# What the pages load, from the packages of book/package.json to book/assets/vendor.
LIBRARIES = {
    "d3/dist/d3.min.js": "d3.min.js",
    "jquery/dist/jquery.min.js": "jquery.min.js",
    "mathjax/es5/tex-mml-chtml.js": "mathjax/tex-mml-chtml.js",
    "mathjax/es5/output/chtml/fonts": "mathjax/output/chtml/fonts",
    "mathjax/es5/input/tex/extensions": "mathjax/input/tex/extensions",
}


# ------------------------------------------------------------------------------------------------ staging


def clean_notebook(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """A copy fit for a page: no traces of the run, no dead widgets, no parameters or bootstrap cell."""
    page = json.loads(json.dumps(notebook))
    page["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in page["cells"]:
        tags = cell.get("metadata", {}).get("tags", [])
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k not in ("papermill", "execution")}
        if HIDDEN & set(tags):
            cell["metadata"]["tags"] = sorted({*tags, "remove-cell"})
        if cell["cell_type"] == "code":
            outputs = [LIVE_NOTE] if "live" in tags else cell["outputs"]
            cell["outputs"] = [told_anew(output) for output in outputs if WIDGET not in output.get("data", {})]
    return page


def told_anew(output: dict[str, Any]) -> dict[str, Any]:
    """The output as the page shows it: rates and verdicts are of today's study, whenever the notebook ran."""
    from rtx_lib.evidence import findings

    data = output.get("data", {})
    if found := data.get(findings.MIME):
        found = findings.Finding(**found)
        data = findings.bundle(found, findings.load_study(), f"../book/findings.html#{found.id}")
    elif chapter := data.get(findings.AUDIT):
        data = findings.audit_bundle(chapter, "../book/results.html")
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
    """The Markdown `text` with the marked numbers out of the records: see rtx_lib/evidence/measured.py."""
    from execute import BuildError

    from rtx_lib.evidence import measured
    from rtx_lib.evidence.records import load

    if "data-record" not in text:
        return text
    try:
        return measured.filled(text, load(root / "book" / "results"))
    except ValueError as error:
        raise BuildError(f"{name}: {error}") from error


def pages(root: Path, executed: Path | None) -> dict[str, bytes]:
    """Content of the staged tree by path: settings, prose pages, extension, assets, records, notebooks, weights."""
    import live_files
    from execute import BuildError, notebooks_in_toc, read_notebook, source

    files = {name: (root / name).read_bytes() for name in ("_config.yml", "_toc.yml", "CITATION.cff")}
    for path in sorted((root / "book").rglob("*")):
        name = path.relative_to(root)
        private = any(part == "__pycache__" or part.startswith(".") for part in name.parts)
        if path.is_file() and not private and not (path.suffix == ".py" and name.parent == Path("book")):
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
        text = json.dumps(page, indent=1, ensure_ascii=False)
        files[path.as_posix()] = without_paths(text, root).encode()
    return files


def libraries(root: Path, build: Path) -> dict[str, bytes]:
    """The browser libraries by staged path; empty, with a warning, where there is no npm or it fails."""
    import node

    book, folder = root / "book", build / "npm"
    names = ("package.json", "package-lock.json", ".npmrc")
    key = hashlib.sha256(b"".join((book / name).read_bytes() for name in names)).hexdigest()
    mark = folder / "installed"
    if not (mark.exists() and mark.read_text() == key):
        npm = node.command("npm")
        if npm is None:
            print("Warning: npm is missing; the pages will load MathJax, d3 and jquery from their usual addresses.")
            return {}
        mark.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copyfile(book / name, folder / name)
        answer = subprocess.run(
            [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True
        )
        if answer.returncode:
            print("Warning: npm ci failed; the pages will load their libraries from the usual addresses.")
            print(answer.stderr[-800:])
            return {}
        mark.write_text(key)
    found = {}
    for origin, target in LIBRARIES.items():
        start = folder / "node_modules" / origin
        for path in [start] if start.is_file() else sorted(p for p in start.rglob("*") if p.is_file()):
            inner = path.relative_to(start).as_posix()
            name = f"book/assets/vendor/{target}" + ("" if inner == "." else f"/{inner}")
            found[name] = path.read_bytes()
    return found


def stage(files: Mapping[str, bytes], staged: Path) -> None:
    """Make the folder `staged` hold exactly `files`; what is the same already is not touched."""
    for path in [*staged.rglob("*")]:
        name = path.relative_to(staged)
        if path.is_file() and name.parts[0] != "_build" and name.as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = staged / name
        if not (path.is_file() and path.read_bytes() == content):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


# ------------------------------------------------------------------------------------------------ the site


def check_jupyter_book(version: str) -> None:
    """Refuse Jupyter Book 2, which is another program under the same name."""
    from execute import BuildError

    if int(version.split(".")[0]) != 1:
        raise BuildError(
            f"This environment has jupyter-book {version}; the book needs 1.x: "
            "pip install 'jupyter-book>=1.0.4.post1,<2'"
        )


def site_key(root: Path, files: Mapping[str, bytes]) -> str:
    """Hash of all that decides the site: staged files, the library (docstrings, scripts), packages, this script."""
    from execute import add_files, installed_versions

    digest = hashlib.sha256("\n".join(installed_versions((root / "requirements.txt").read_text())).encode())
    for name in sorted(files):
        digest.update(name.encode() + hashlib.sha256(files[name]).digest())
    library = [path for path in (root / "rtx_lib").rglob("*") if path.suffix in (".py", ".js", ".css")]
    add_files(digest, root, [*library, *root.glob("notebooks/*.ipynb")])
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()


def run_sphinx(root: Path, staged: Path, log: Path, builder: str = "html") -> Path:
    """Build the staged tree with warnings as errors; the folder of the pages."""
    from execute import BuildError

    shutil.rmtree(staged / "_build", ignore_errors=True)  # a fresh build: Sphinx does not see every change
    start = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
    }
    another = [] if builder == "html" else ["--builder", "custom", "--custom-builder", builder]
    with log.open("w") as file:
        code = subprocess.run(
            [sys.executable, "-c", start, "build", "-W", "-n", "--keep-going", *another, str(staged)],
            cwd=root,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        ).returncode
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text())
    if code:
        found = [line for line in text.splitlines() if re.search(r"WARNING|ERROR|CRITICAL|Error:|Exception", line)]
        lines = (found or text.splitlines()[-20:])[:40]
        shown = "\n".join("  " + line.replace(f"{staged}/", "")[:300] for line in lines)
        raise BuildError(f"jupyter-book found faults (all of its output: {log}):\n{shown}")
    return staged / "_build" / builder


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
        mark.unlink(missing_ok=True)
        publish(html, root, site)
        mark.write_text(key)
        print(f"Site: built in {time.monotonic() - start:.1f} s")
    print(f"Open {site / 'index.html'}")


def run_notebooks(root: Path, build: Path, out: Path, options: argparse.Namespace) -> None:
    """Execute what changed and keep the seconds of every notebook in `durations.json`."""
    import papermill
    from execute import BuildError, Runner, cached_data, notebooks_in_toc

    parameters = {"profile": options.profile, **dict(options.parameter)}
    notebooks = notebooks_in_toc(root)
    names = [path.stem for path in notebooks]
    if unknown := [name for name in options.only or () if name not in names]:
        raise BuildError(f"There is no notebook {unknown[0]!r}; the notebooks are: {', '.join(names)}.")
    notebooks = [path for path in notebooks if not options.only or path.stem in options.only]
    for name, path in ((name, path) for name, _ in options.parameter for path in notebooks):
        if name not in (known := papermill.inspect_notebook(root / path)):  # papermill itself only warns
            raise BuildError(f"{path.name} has no parameter {name!r}; its parameters cell has {', '.join(known)}.")
    runner = Runner(root, out, build / "failed", parameters, cached_data(), options.timeout, options.jobs)
    report = out.parent / "durations.json"
    known = json.loads(report.read_text()) if report.exists() else {}
    took = runner.run(notebooks)
    new = {name: {"wall": round(one.wall, 1), "cpu": round(one.cpu, 1)} for name, one in sorted(took.items())}
    partial = report.with_suffix(".part")  # written in one step: a killed build leaves the old file whole
    partial.write_text(json.dumps({**known, **new}, indent=1) + "\n")
    os.replace(partial, report)


def fell_otherwise(root: Path, executed: Path) -> list[str]:
    """A line for each finding that the executed notebooks judged and that did not hold."""
    from execute import findings_of, notebooks_in_toc

    lines = []
    for path in notebooks_in_toc(root):
        copy = executed / path.name
        for found in findings_of(copy) if copy.exists() else ():
            if found["held"] is False:
                lines.append(
                    f"  {path.stem}, {found['id']}: {found['value']:.4g} is not {found['bound']}"
                    if found["value"] is not None
                    else f"  {path.stem}, {found['id']}: not a finite number"
                )
    return lines


def main() -> int:
    def assignment(text: str) -> tuple[str, Any]:
        name, sign, value = text.partition("=")
        if not sign:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
        try:
            return name, ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return name, value

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["book", "execute", "site", "epub", "serve"])
    parser.add_argument("--profile", default="book", choices=["smoke", "book", "paper"])
    parser.add_argument("-p", "--parameter", type=assignment, action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--only", action="append", metavar="NAME", help="this notebook only (may be repeated)")
    parser.add_argument("--timeout", type=int, default=900, help="seconds that one cell may take")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks at a time")
    parser.add_argument("--build", type=Path, default=ROOT / "_build", help="folder for what is built")
    parser.add_argument(
        "--strict",
        action="store_true",
        default=os.environ.get("STRICT") == "1",
        help="fail where a finding falls otherwise; the default with STRICT=1",
    )
    parser.add_argument("--plain", action="store_true", help="build the site from the notebooks without outputs")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    build = options.build.resolve()
    if options.step == "serve":
        from serving import serve

        serve(build / "site", options.port)
        return 0

    from execute import BuildError

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled job ends as Ctrl-C does
    executed = build / "executed"
    try:
        if options.step in ("book", "execute", "epub"):
            run_notebooks(ROOT, build, executed, options)
        fell = [] if options.plain or options.step == "site" else fell_otherwise(ROOT, executed)
        told = f"{len(fell)} finding{'s' * (len(fell) != 1)} fell otherwise on this machine; the pages say so:"
        if fell and options.strict:
            raise BuildError("\n".join([told, *fell]))
        if options.step in ("book", "site"):
            build_site(ROOT, build, None if options.plain else executed)
        if options.step == "epub":
            from epub import build_epub

            stage({**pages(ROOT, None if options.plain else executed), **libraries(ROOT, build)}, build / "staged-epub")
            build_epub(ROOT, build, build / "staged-epub")
        if fell:
            print("\n".join([told, *fell]))
    except BuildError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nStopped; the next call goes on where this one was.", file=sys.stderr)
        sys.exit(130)
