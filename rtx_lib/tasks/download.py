"""Fetch the data files, check them by SHA-256 and keep them in a cache.

``python -m rtx_lib.tasks.download --list`` says which files there are and which of them the cache holds;
``python -m rtx_lib.tasks.download mnist`` fills the cache with a file or a group of files. With ``--try`` it takes what
it can get in little time, says in one line what is missing, and never fails: the book has embedded data for that.

The cache is the folder that the environment variable ``RTX_DATA`` names, else
``$XDG_CACHE_HOME/rtx_lib``, else ``~/.cache/rtx_lib``. ``RTX_DOWNLOAD=0`` forbids downloads.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import math
import os
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from rtx_lib.tasks.files import FILES, GROUPS, DataFile

TIMEOUT = 30  # seconds that a mirror may be silent
TRY_SILENT, TRY_SECONDS = 10, 120  # the same for `try_fetch`, and seconds that a file may take in all
_PIECE = 1 << 16  # bytes read at a time


class DownloadError(OSError):
    """A file could not be had; the message says why, and how to place it by hand."""

    unreachable = False  # whether no mirror answered at all, so that their hosts need not be asked for the next file


def cache_folder(root: str | os.PathLike[str] | None = None) -> Path:
    """`root` where given, else $RTX_DATA, else rtx_lib in the user's cache folder; it may not exist yet."""
    if root is None:
        root = os.environ.get("RTX_DATA")
    if root:
        return Path(root).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "rtx_lib"


def names_of(*names: str) -> list[str]:
    """The file names behind names of files and groups; ValueError for none or for an unknown one."""
    known = [*GROUPS, *FILES]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        problem = f"name is {unknown[0]!r}" if unknown else "no name is given"
        raise ValueError(f"{problem}; allowed are {', '.join(known)}")
    return [file for name in names for file in GROUPS.get(name, (name,))]


def available(*names: str, root: str | os.PathLike[str] | None = None) -> bool:
    """Whether the cache holds all these files or groups, SHA-256 verified; the network is not touched."""
    return all(_fault(cache_folder(root) / name, FILES[name]) is None for name in names_of(*names))


def fetch(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    download: bool | None = None,
    progress: bool = True,
    silent: float = TIMEOUT,
    seconds: float = math.inf,
) -> Path:
    """The path of a verified data file, downloaded first where the cache does not hold it.

    A download goes to a temporary file in the cache folder, is verified by size and SHA-256, and is moved in
    place in one step; whatever stops it, nothing partial is left and a file already there stays untouched.

    Parameters
    ----------
    name : a key of `FILES`.
    root : the cache folder, see `cache_folder`.
    download : True or False allows or forbids the network; None asks the environment variable RTX_DOWNLOAD
        (1, the default, or 0).
    progress : show a progress bar on standard error.
    silent, seconds : how long a mirror may say nothing, and how long the file may take in all.

    Raises ValueError for an unknown name or an RTX_DOWNLOAD other than 0 and 1, and `DownloadError` where the
    file is not in the cache and cannot be downloaded, or the cache cannot be written.
    """
    if name not in FILES:
        raise ValueError(f"name is {name!r}; it must be one of {', '.join(FILES)}")
    wanted = FILES[name]
    allowed = _may_download() if download is None else download
    path = cache_folder(root) / name
    fault = _fault(path, wanted)
    if fault is None:
        return path
    by_hand = (
        f"To place it by hand: put {name} ({wanted.size:,} bytes, SHA-256 {wanted.sha256}), from "
        f"{' or '.join(wanted.mirrors)}, into {path.parent}, or set RTX_DATA to a folder that holds it."
    )
    if not allowed:
        raise DownloadError(f"{path} {fault}, and downloads are off (RTX_DOWNLOAD=0, or download=False). {by_hand}")
    # In the same folder, so that the move at the end is one step; under a name of its own, so that two
    # processes do not write into each other's file.
    part = path.with_name(f".{name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _download(name, wanted, part, progress, silent, time.monotonic() + seconds)
            os.replace(part, path)
        finally:  # reached by KeyboardInterrupt too
            part.unlink(missing_ok=True)
    except DownloadError as error:
        told = DownloadError(f"{path} {fault}, and {error}. {by_hand}")
        told.unreachable = error.unreachable
        raise told from error
    except OSError as error:
        raise DownloadError(f"{path} {fault}, and its folder is not writable: {error}. {by_hand}") from error
    return path


def _may_download() -> bool:
    value = os.environ.get("RTX_DOWNLOAD") or "1"
    if value not in ("0", "1"):
        raise ValueError(f"the environment variable RTX_DOWNLOAD is {value!r}; it must be 0 or 1")
    return value == "1"


def _fault(path: Path, wanted: DataFile) -> str | None:
    """What is wrong with the file at `path`, as the rest of a sentence; None where it is the right one."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            return "is not a file"
        if size != wanted.size:
            return f"has {size:,} bytes where {wanted.size:,} are right"
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while piece := file.read(_PIECE):
                digest.update(piece)
    except (FileNotFoundError, NotADirectoryError):
        return "is not there"
    except OSError as error:
        return f"cannot be read ({error})"
    found = digest.hexdigest()
    return None if found == wanted.sha256 else f"has the wrong SHA-256 {found}"


def _download(name: str, wanted: DataFile, part: Path, progress: bool, silent: float, deadline: float) -> None:
    """Fill `part` from the first mirror with the right bytes, else DownloadError with their answers."""
    said, answered = [], False
    for url in wanted.mirrors:
        with part.open("wb") as file:  # empty again after a mirror that failed
            fault, came = _stream(url, file, wanted, name if progress else None, silent, deadline)
        if fault is None:
            return
        answered = answered or came
        said.append(f"{url}: {fault}")
    error = DownloadError(f"no mirror served it ({'; '.join(said)})")
    error.unreachable = not answered
    raise error


def _stream(
    url: str, file: BinaryIO, wanted: DataFile, label: str | None, silent: float, deadline: float
) -> tuple[str | None, bool]:
    """Copy what `url` serves into `file`: what was wrong (None: nothing), and whether it answered at all."""
    digest, size = hashlib.sha256(), 0
    request = urllib.request.Request(url, headers={"User-Agent": "rtx_lib"})
    answered = False
    try:
        left = deadline - time.monotonic()
        if left <= 0:
            return "no time left", False
        with urllib.request.urlopen(request, timeout=min(silent, left)) as answer:
            answered = True
            while piece := answer.read1(_PIECE):  # what has come, so that a slow mirror meets the deadline
                size += len(piece)
                if time.monotonic() > deadline:
                    return f"too slow, {size:,} of {wanted.size:,} bytes in the time allowed", True
                if size > wanted.size:  # an answer without end must not fill the disk
                    return f"more than the right {wanted.size:,} bytes", True
                digest.update(piece)
                file.write(piece)
                if label:
                    share = size / wanted.size
                    print(f"\r{label} [{'#' * int(20 * share):<20}] {share:4.0%}", end="", file=sys.stderr)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection
            answered = True
        return str(error) or type(error).__name__, answered
    finally:
        if label and size:
            print(file=sys.stderr)
    if size != wanted.size:
        return f"cut short, {size:,} of {wanted.size:,} bytes", True
    return (None if digest.hexdigest() == wanted.sha256 else f"wrong SHA-256 {digest.hexdigest()}"), True


def try_fetch(*names: str, root: str | os.PathLike[str] | None = None) -> str:
    """Fetch what the cache lacks of these files and groups, within little time; what came of it, in one line.

    A mirror may be silent for ``TRY_SILENT`` seconds and a file may take ``TRY_SECONDS``. Hosts that do not answer are
    not asked for another file. ValueError as `fetch` has it.
    """
    wanted = names_of(*names)
    lacking = [name for name in wanted if not available(name, root=root)]
    if not lacking:
        return f"Data: all {len(wanted)} files are in the cache."
    embedded = "the chapters that use them take embedded data instead."
    if not _may_download():
        return f"Data: {len(lacking)} of {len(wanted)} files are not in the cache, and RTX_DOWNLOAD=0: {embedded}"
    print(
        f"Data: fetching {len(lacking)} files, {sum(FILES[name].size for name in lacking) / 1e6:.1f} MB, at most "
        f"{TRY_SECONDS} s each",
        flush=True,
    )
    had, problem, silent = 0, "", set[str]()
    for name in lacking:
        hosts = {urllib.parse.urlsplit(url).netloc for url in FILES[name].mirrors}
        if hosts <= silent:
            continue
        try:
            fetch(name, root, silent=TRY_SILENT, seconds=TRY_SECONDS)
            had += 1
        except DownloadError as error:
            problem = problem or f"{name}: {'no answer' if error.unreachable else _reason(error)}"
            silent |= hosts if error.unreachable else set()
    if had == len(lacking):
        return f"Data: all {len(wanted)} files are in the cache."
    return f"Data: {len(lacking) - had} of {len(wanted)} files could not be had ({problem}): {embedded}"


def _reason(error: DownloadError) -> str:
    """What the innermost error says: without addresses and without advice."""
    while isinstance(error.__cause__, OSError):
        error = error.__cause__  # type: ignore[assignment]
    return "the folder is not writable" if not isinstance(error, DownloadError) else "no mirror has the right file"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: fetch or list. Returns the exit status, 1 where a file could not be had."""
    parser = argparse.ArgumentParser("python -m rtx_lib.tasks.download", description="Fill the data cache.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"a file, or a group: {', '.join(GROUPS)}")
    parser.add_argument("--root", help="cache folder (default: $RTX_DATA, else the user's cache)")
    parser.add_argument(
        "--try",
        action="store_true",
        dest="trying",
        help=f"take what comes within {TRY_SECONDS} s a file, and end with status 0",
    )
    parser.add_argument("--list", action="store_true", help="list the files and whether the cache holds them")
    options = parser.parse_args(arguments)
    if options.list or not options.names:
        print(f"cache: {cache_folder(options.root)}")
        for group, names in GROUPS.items():
            for name in names:
                state = "here" if available(name, root=options.root) else "-"
                print(f"{group:12} {name:27} {FILES[name].size:>11,} bytes   {state}")
        return 0
    failed = 0
    try:
        if options.trying:
            print(try_fetch(*options.names, root=options.root))
            return 0
        for name in names_of(*options.names):
            try:
                print(fetch(name, options.root))
            except DownloadError as error:
                print(error, file=sys.stderr)
                failed = 1
    except ValueError as error:
        parser.error(str(error))
    return failed


if __name__ == "__main__":
    sys.exit(main())
