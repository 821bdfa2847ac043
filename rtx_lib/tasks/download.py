"""The command that fills the cache of data files.

``python -m rtx_lib.tasks.download --list`` says which files there are and which of them the cache holds;
``python -m rtx_lib.tasks.download mnist`` fills the cache with a file or a group of files. With ``--try`` it takes what
it can get in little time, says in one line what is missing, and never fails: the book has embedded data for that.
"""

import argparse
import sys
from collections.abc import Sequence

from rtx_lib.tasks.files import FILES, GROUPS, DownloadError, available, cache_folder, fetch, may_download, names_of

TRY_SILENT, TRY_SECONDS = 10, 120  # seconds that a mirror may be silent, and that a file may take in all


def try_fetch(*names: str) -> str:
    """Fetch what the cache lacks of these files and groups, within little time; what came of it, in one line.

    A mirror may be silent for ``TRY_SILENT`` seconds and a file may take ``TRY_SECONDS``. Hosts that do not answer are
    not asked for another file. ValueError as `fetch` has it.
    """
    wanted = names_of(*names)
    lacking = [name for name in wanted if not available(name)]
    embedded = "the chapters that use them take embedded data instead."
    if lacking and not may_download():
        return f"Data: {len(lacking)} of {len(wanted)} files are not in the cache, and RTX_DOWNLOAD=0: {embedded}"
    if lacking:
        size = sum(FILES[name].size for name in lacking) / 1e6
        print(f"Data: fetching {len(lacking)} files, {size:.1f} MB, at most {TRY_SECONDS} s each", flush=True)
    problems, silent_hosts = [], set[str]()
    for name in lacking:
        try:
            fetch(name, silent=TRY_SILENT, seconds=TRY_SECONDS, silent_hosts=silent_hosts)
        except DownloadError as error:
            problems.append(f"{name}: {error.reason}")
    if problems:
        return f"Data: {len(problems)} of {len(wanted)} files could not be had ({problems[0]}): {embedded}"
    return f"Data: all {len(wanted)} files are in the cache."


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: fetch or list. Returns the exit status, 1 where a file could not be had."""
    parser = argparse.ArgumentParser("python -m rtx_lib.tasks.download", description="Fill the data cache.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"a file, or a group: {', '.join(GROUPS)}")
    trying = f"take what comes within {TRY_SECONDS} s a file, and end with status 0"
    parser.add_argument("--try", action="store_true", dest="trying", help=trying)
    parser.add_argument("--list", action="store_true", help="list the files and whether the cache holds them")
    options = parser.parse_args(arguments)
    if options.list or not options.names:
        print(f"cache: {cache_folder()}")
        for group, names in GROUPS.items():
            for name in names:
                print(f"{group:12} {name:29} {FILES[name].size:>11,} bytes   {'here' if available(name) else '-'}")
        return 0
    failed = 0
    try:
        if options.trying:
            print(try_fetch(*options.names))
            return 0
        for name in names_of(*options.names):
            try:
                print(fetch(name))
            except DownloadError as error:
                print(error, file=sys.stderr)
                failed = 1
    except ValueError as error:
        parser.error(str(error))
    return failed


if __name__ == "__main__":
    sys.exit(main())
