"""The data files: their SHA-256 and the addresses that serve them (in files.txt), and the cache that keeps them.

The cache is the folder that the environment variable ``RTX_DATA`` names, else ``$XDG_CACHE_HOME/rtx_lib``, else
``~/.cache/rtx_lib``. ``RTX_DOWNLOAD=0`` forbids downloads.
"""

import hashlib
import http.client
import inspect
import math
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

TIMEOUT = 30  # seconds that a mirror may be silent
_PIECE = 1 << 16  # bytes read at a time


class DataFile(NamedTuple):
    """What a file must be (`sha256`, `size` in bytes) and the addresses that serve it, tried in turn."""

    sha256: str
    size: int
    mirrors: tuple[str, ...]


FILES: dict[str, DataFile] = {}
"""By name."""
GROUPS: dict[str, tuple[str, ...]] = {}
"""The names of files that belong together."""
for _line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
    if not _line.startswith("#"):
        _group, _name, _size, _sha256, *_mirrors = _line.split()
        FILES[_name] = DataFile(_sha256, int(_size), tuple(_mirrors))
        GROUPS[_group] = (*GROUPS.get(_group, ()), _name)


class DownloadError(OSError):
    """A file could not be had; the message says why and how to place it by hand, `reason` in a few words why."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def cache_folder() -> Path:
    """$RTX_DATA, else rtx_lib in the user's cache folder; it may not exist yet."""
    if folder := os.environ.get("RTX_DATA"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "rtx_lib"


def names_of(*names: str) -> list[str]:
    """The file names behind names of files and groups; ValueError for none or for an unknown one."""
    known = [*GROUPS, *FILES]
    for name in names or (None,):
        if name not in known:
            raise ValueError(f"name must be one of {', '.join(known)}, got {name!r}")
    return [file for name in names for file in GROUPS.get(name, (name,))]


def files_of(task: Callable[..., Any], *arguments: Any, **settings: Any) -> tuple[str, ...]:
    """The files that ``task(*arguments, **settings)`` reads, which is not made; none for a task that reads no file.

    A task that reads files has the attribute `files`: their names, or a mapping from its sources to their names. A
    source is what an argument called ``source``, ``sources`` or ``without`` names. TypeError as the task has it, and
    KeyError for an unknown source.
    """
    files = getattr(task, "files", ())
    if not isinstance(files, Mapping):
        return files
    given = inspect.signature(task).bind(*arguments, **settings)
    given.apply_defaults()
    named = [(given.arguments | given.kwargs).get(name, ()) for name in ("source", "sources", "without")]
    sources = [source for one in named for source in ((one,) if isinstance(one, str) else one)]
    return tuple(dict.fromkeys(name for source in sources for name in files[source]))


def available(*names: str) -> bool:
    """Whether the cache holds all these files or groups, SHA-256 verified; the network is not touched."""
    return all(_fault(cache_folder() / name, FILES[name]) is None for name in names_of(*names))


def fetch(
    name: str, *, silent: float = TIMEOUT, seconds: float = math.inf, silent_hosts: set[str] | None = None
) -> Path:
    """The path of a verified data file, downloaded first where the cache does not hold it.

    `pooch.retrieve` loads into a temporary file in the cache folder, verifies it, and moves it in place in one step;
    whatever stops it, nothing partial is left and a file already there stays untouched.

    Parameters
    ----------
    name
        A key of `FILES`.
    silent, seconds
        How long a mirror may say nothing, and how long the file may take in all.
    silent_hosts
        Hosts that are not asked, because they were silent before; those found silent now are added.

    Raises
    ------
    ValueError
        For an unknown name, or an RTX_DOWNLOAD other than 0 and 1.
    DownloadError
        If the file is not in the cache and cannot be downloaded, or the cache cannot be written.
    """
    if name not in FILES:
        raise ValueError(f"name must be one of {', '.join(FILES)}, got {name!r}")
    wanted, path, allowed = FILES[name], cache_folder() / name, may_download()
    fault = _fault(path, wanted)
    if fault is None:
        return path
    reason, more = "downloads are off", "RTX_DOWNLOAD=0"
    if allowed:
        silent_hosts = set() if silent_hosts is None else silent_hosts
        reason, more = _download(path, wanted, silent, time.monotonic() + seconds, silent_hosts)
    if not reason:
        return path
    raise DownloadError(
        f"{path} {fault}, and {reason} ({more}). To place it by hand: put {name} ({wanted.size:,} bytes, SHA-256 "
        f"{wanted.sha256}), from {' or '.join(wanted.mirrors)}, into {cache_folder()}, or set RTX_DATA to a folder "
        "that holds it.",
        reason,
    )


def _download(path: Path, wanted: DataFile, silent: float, deadline: float, silent_hosts: set[str]) -> tuple[str, str]:
    """Put the file in place; why that failed, in few words and in many, both empty where it did not."""
    if path.is_dir():
        return "the folder is not writable", "nothing can take its place"
    try:
        import pooch  # here, because whoever has the files does not need it
    except ImportError:
        return "the package pooch is missing", "pip install pooch"

    def read(url: str, output: str, _: object) -> None:
        _read(url, output, wanted.size, path.name, silent, deadline, silent_hosts)

    said = []
    for url in wanted.mirrors:
        try:
            pooch.retrieve(url, wanted.sha256, path.name, path.parent, downloader=read)
            return "", ""
        except ValueError as error:  # the mirror's fault, or a hash that is not right
            said.append(f"{url}: {error}")
        except OSError as error:
            return "the folder is not writable", str(error)
    silence = {_host(url) for url in wanted.mirrors} <= silent_hosts
    return "no answer" if silence else "no mirror has the right file", "; ".join(said)


def may_download() -> bool:
    """What the environment variable RTX_DOWNLOAD says; ValueError where it is neither 0 nor 1."""
    value = os.environ.get("RTX_DOWNLOAD") or "1"
    if value not in ("0", "1"):
        raise ValueError(f"the environment variable RTX_DOWNLOAD must be 0 or 1, got {value!r}")
    return value == "1"


def _fault(path: Path, wanted: DataFile) -> str | None:
    """What is wrong with the file at `path`, as the rest of a sentence; None where it is the right one."""
    try:
        if not path.exists():
            return "is not there"
        if not path.is_file():
            return "is not a file"
        if (size := path.stat().st_size) != wanted.size:
            return f"has {size:,} bytes where {wanted.size:,} are right"
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return f"cannot be read ({error})"
    return None if found == wanted.sha256 else f"has the wrong SHA-256 {found}"


def _host(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def _read(url: str, output: str, size: int, label: str, silent: float, deadline: float, silent_hosts: set[str]) -> None:
    """What pooch downloads with: keeps to a deadline and to the size of the file, and shows a bar on standard error.

    Pooch's own waits for whole pieces: a mirror that sends a byte now and then would hold it forever.
    """
    left, came = deadline - time.monotonic(), 0
    if _host(url) in silent_hosts or left <= 0:
        raise ValueError("no time left" if left <= 0 else "its host was silent before")
    request = urllib.request.Request(url, headers={"User-Agent": "rtx_lib"})
    os.unlink(output)  # what pooch has made is for its owner's eyes only
    try:
        with urllib.request.urlopen(request, timeout=min(silent, left)) as answer, open(output, "wb") as file:
            while piece := answer.read1(_PIECE):  # what has come, however little
                came += len(piece)
                if time.monotonic() > deadline:
                    raise ValueError(f"too slow, {came:,} of {size:,} bytes in the time allowed")
                if came > size:  # an answer without end must not fill the disk
                    raise ValueError(f"more than the right {size:,} bytes")
                file.write(piece)
                share = came / size
                print(f"\r{label} [{'#' * int(20 * share):<20}] {share:4.0%}", end="", file=sys.stderr)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection
        elif isinstance(error, TimeoutError | urllib.error.URLError):
            silent_hosts.add(_host(url))
        raise ValueError(str(error) or type(error).__name__) from error
    finally:
        if came:
            print(file=sys.stderr)
    if came != size:
        raise ValueError(f"cut short, {came:,} of {size:,} bytes")
