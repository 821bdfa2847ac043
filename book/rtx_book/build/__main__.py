"""From notebooks to the site: `python -m rtx_book.build book|execute|site`.

execute  notebooks -> _build/executed        (execute.py: only what changed)
site     + book/, settings, browser libraries -> _build/staged, then jupyter-book -> _build/site
         (moved into place in one step; skipped when nothing changed)
book     both
"""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from rtx_book.build.execute import BuildError, Runner, cached_data, findings_of, notebooks_in_toc
from rtx_book.build.website import build_site

ROOT = Path(__file__).resolve().parents[3]


def run_notebooks(root: Path, build: Path, out: Path, options: argparse.Namespace) -> None:
    """Execute what changed and keep the seconds of every notebook in `durations.json`."""
    notebooks = notebooks_in_toc(root)
    names = [path.stem for path in notebooks]
    if unknown := [name for name in options.only or () if name not in names]:
        raise BuildError(f"There is no notebook {unknown[0]!r}; the notebooks are: {', '.join(names)}.")
    notebooks = [path for path in notebooks if not options.only or path.stem in options.only]
    parameters = {"profile": options.profile}
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
    lines = []
    for path in notebooks_in_toc(root):
        copy = executed / path.name
        for found in findings_of(copy) if copy.exists() else ():
            if found["held"] is False:
                value = found["value"]
                said = "not a finite number" if value is None else f"{value:.4g} is not {found['bound']}"
                lines.append(f"  {path.stem}, {found['id']}: {said}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["book", "execute", "site"])
    parser.add_argument("--profile", default="book", choices=["smoke", "book", "paper"])
    parser.add_argument("--only", action="append", metavar="NAME", help="this notebook only (may be repeated)")
    parser.add_argument("--timeout", type=int, default=900, help="seconds that one cell may take")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks at a time")
    parser.add_argument("--build", type=Path, default=ROOT / "_build", help="folder for what is built")
    parser.add_argument("--strict", action="store_true", help="fail where a finding falls otherwise; STRICT=1, too")
    options = parser.parse_args()
    build = options.build.resolve()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled job ends as Ctrl-C does
    executed = build / "executed"
    try:
        if options.step in ("book", "execute"):
            run_notebooks(ROOT, build, executed, options)
        fell = [] if options.step == "site" else fell_otherwise(ROOT, executed)
        told = f"{len(fell)} finding{'s' * (len(fell) != 1)} fell otherwise on this machine; the pages say so:"
        if fell and (options.strict or os.environ.get("STRICT") == "1"):
            raise BuildError("\n".join([told, *fell]))
        if options.step in ("book", "site"):
            build_site(ROOT, build, executed)
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
