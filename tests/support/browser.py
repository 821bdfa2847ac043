"""The browser of the tests: `$CHROMIUM`, else the system's, else Playwright's own. RTX_BROWSER=0 forbids all three.

`python tests/support/browser.py [firefox]` brings one where none is found: Playwright's, or with RTX_REQUIRE_ALL=1
the system's by apt-get, where that asks nothing.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

NAMES = {  # the shell first: without a window it opens a page for a sixth of the processor's time
    "chromium": "chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome msedge",
    "firefox": "firefox-esr firefox",
}
# Where macOS and Windows keep what is on no path.
PLACES = {
    "chromium": [
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        r"C:\Program Files\Google\Chrome\Application\chrome.exe",
        r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
    ],
    "firefox": ["/Applications/Firefox.app/Contents/MacOS/firefox", r"C:\Program Files\Mozilla Firefox\firefox.exe"],
}
DEBIAN = {"chromium": "chromium-headless-shell", "firefox": "firefox-esr"}


def allowed() -> bool:
    return os.environ.get("RTX_BROWSER") != "0"


def find(kind: str = "chromium") -> str | None:
    """The path of the browser that `$CHROMIUM` (`$FIREFOX`) names, or of the system's; None where there is none.

    ValueError where the variable names none: a slip in a path leaves out no test.
    """
    if not allowed():
        return None
    variable = kind.upper()
    if named := os.environ.get(variable):
        if found := shutil.which(named):
            return found
        raise ValueError(f"the environment variable {variable} must name a browser, got {named!r}")
    return next(filter(None, map(shutil.which, [*NAMES[kind].split(), *PLACES[kind]])), None)


def of_playwright(path: str) -> bool:
    """Whether Playwright's own Chromium is there and starts: on Linux it may lack libraries of the system."""
    if not (allowed() and Path(path).is_file()):
        return False
    return sys.platform != "linux" or run([path, "--version"]) == 0


def run(command: Sequence[str]) -> int:
    """The exit status; nothing is printed."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode
    except OSError:
        return 127


def as_root() -> list[str] | None:
    """What stands before a command that only root may give; None where somebody would have to type a password."""
    if not hasattr(os, "geteuid") or not shutil.which("apt-get"):
        return None
    if os.geteuid() == 0:
        return []
    return ["sudo", "-n"] if run(["sudo", "-n", "true"]) == 0 else None


def bring(kind: str = "chromium", call: Callable[[Sequence[str]], int] = run) -> None:
    """Install a browser if none is found; whether that worked, the tests will see."""
    if not allowed() or find(kind):
        return
    if kind == "chromium":
        print("No Chromium: trying Playwright's (150 MB, kept in its cache)", flush=True)
        if call([sys.executable, "-m", "playwright", "install", "chromium"]) == 0:
            return
    if os.environ.get("RTX_REQUIRE_ALL") == "1" and (root := as_root()) is not None:
        print(f"Installing {DEBIAN[kind]} with apt-get", flush=True)
        install = [*root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", DEBIAN[kind]]
        if call([*root, "apt-get", "update", "-qq"]) == 0:
            call(install)


if __name__ == "__main__":
    bring(*sys.argv[1:])
