"""Make `.venv` and keep it in step with the requirements: `python book/rtx_book/build/environment.py [--tests]`.

Needs the standard library only, since it runs before anything is installed. A stamp inside the environment
holds a hash of everything that decides what is installed. It is removed before the first change and written
after the last one, so that an interrupted installation is taken up again by the next call.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
OLDEST, NEWEST = (3, 10), (3, 14)  # for these every pinned package has a wheel
INPUTS = {"book": ["requirements.txt"], "tests": ["requirements.txt", "tests/requirements.txt"]}


def interpreter(venv: Path) -> Path:
    """The Python of the environment `venv`."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fingerprint(kind: str, torch_index: str) -> str:
    """Hash of what decides the content of the environment: requirements, metadata, torch's index, Python."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {torch_index} {kind}".encode())
    for name in [*INPUTS[kind], "pyproject.toml"]:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def is_ready(venv: Path, kind: str, torch_index: str) -> bool:
    """Whether an earlier call finished the installation. The tests' packages include the book's."""
    stamp = venv / "rtx-stamp"
    if not (interpreter(venv).exists() and stamp.exists()):
        return False
    wanted = [fingerprint("tests", torch_index)]
    if kind == "book":
        wanted.append(fingerprint("book", torch_index))
    return stamp.read_text().strip() in wanted


def answer(python: Path | str, probe: str) -> str:
    """What this Python prints for `probe`: nothing, if it does not run."""
    try:
        return subprocess.run([python, "-c", probe], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def works(venv: Path) -> bool:
    """Whether the environment has this Python and a pip that starts."""
    return answer(interpreter(venv), "import pip, sys; print(sys.version_info[:2])") == str(sys.version_info[:2])


def install(venv: Path, kind: str, torch_index: str) -> None:
    """Create or refresh the environment; raise `CalledProcessError` when pip fails."""
    stamp = venv / "rtx-stamp"
    stamp.unlink(missing_ok=True)
    if not works(venv):
        print(f"Creating {venv.name} (Python {sys.version_info[0]}.{sys.version_info[1]})", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
    pip = [str(interpreter(venv)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    requirements = ROOT / INPUTS[kind][-1]
    print(f"Installing {requirements.relative_to(ROOT)} (the first time this takes minutes)", flush=True)
    if torch_index:
        pin = next(x for x in (ROOT / "requirements.txt").read_text().split() if x.startswith("torch=="))
        subprocess.run([*pip, "--index-url", torch_index, pin], check=True)
    subprocess.run([*pip, "-r", str(requirements), "-e", str(ROOT)], check=True)
    partial = stamp.with_suffix(".part")
    partial.write_text(fingerprint(kind, torch_index) + "\n")
    os.replace(partial, stamp)


def supported(version: tuple[int, ...]) -> bool:
    return OLDEST <= version[:2] <= NEWEST


def another() -> str | None:
    """The newest supported `python3.x` on the path that runs: a name may be there and its program not."""
    probe = "import ensurepip, sys, venv; print(sys.version_info[:2])"
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        path = shutil.which(f"python3.{minor}")
        if path and answer(path, probe) == str((3, minor)):
            return path
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", action="store_true", help="also what the tests need")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    parser.add_argument("--torch-index", default="", help="package index for torch, e.g. that of the CPU wheels")
    parser.add_argument("--search", action="store_true", help="take another Python where this one is not supported")
    options = parser.parse_args()
    if not supported(sys.version_info[:2]):
        mine = ".".join(map(str, sys.version_info[:2]))
        found = another() if options.search else None
        if found:
            print(f"The pinned packages have no wheels for Python {mine}: taking {found}", flush=True)
            try:
                return subprocess.call([found, *sys.argv])
            except KeyboardInterrupt:  # which the other one has told
                return 130
        print(
            f"This book needs Python {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}, and this is {mine}: "
            "install one of these, or name it: make PYTHON=python3.12 ...",
            file=sys.stderr,
        )
        return 1
    kind, start = "tests" if options.tests else "book", time.monotonic()
    if is_ready(options.venv, kind, options.torch_index):
        return 0
    try:
        install(options.venv, kind, options.torch_index)
    except subprocess.CalledProcessError as error:
        print(f"The installation failed (exit code {error.returncode}); pip's message stands above.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted: the next call goes on.", file=sys.stderr)
        return 130
    print(f"Environment ready after {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
