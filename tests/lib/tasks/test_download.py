"""Downloads against a server on this machine that lies in every way a server can."""

import hashlib
import os
import re
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.helpers import refusals

from rtx_lib.tasks import available, download, fetch, files
from rtx_lib.tasks.files import FILES, GROUPS, DataFile, DownloadError, cache_folder

CONTENT = bytes(range(256)) * 1_000  # several pieces of a stream
WRONG = CONTENT[:-1] + b"\0"
NAME = "example.bin"
BODIES = {"right": CONTENT, "wrong": WRONG, "short": CONTENT[:-100], "cut": CONTENT[:-100], "long": CONTENT + b"more"}


class Answer(BaseHTTPRequestHandler):
    """The path says how to answer."""

    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        how = self.path.strip("/")
        if how == "missing":
            self.send_error(404)
        elif how == "stalled":
            self.server.released.wait()  # type: ignore[attr-defined]
        else:
            self.send_response(200)
            # "cut" promises the whole file and closes the connection early; "short" is honest about its length.
            self.send_header("Content-Length", str(len(CONTENT if how == "cut" else BODIES[how])))
            self.end_headers()
            self.wfile.write(BODIES[how])

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache; downloads are allowed."""
    monkeypatch.setenv("RTX_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    monkeypatch.delenv("RTX_DOWNLOAD", raising=False)
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[ThreadingHTTPServer]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    made.daemon_threads = False  # joined by server_close, so that no socket outlives its test
    made.seen, made.released = [], threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.released.set()  # type: ignore[attr-defined]
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def offer(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch):
    """Enter a file into the table with these mirrors."""

    def enter(*how: str, name: str = NAME, host: str = "127.0.0.1") -> None:
        mirrors = tuple(f"http://{host}:{server.server_port}/{word}" for word in how)
        monkeypatch.setitem(FILES, name, DataFile(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), mirrors))

    return enter


def held(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def refused(match: str, **settings) -> str:
    """What is said where the file cannot be had; nothing partial is left."""
    before = held(cache_folder())
    with pytest.raises(DownloadError, match=match) as caught:
        fetch(NAME, **settings)
    assert held(cache_folder()) == before
    return str(caught.value)


def test_right_file_is_stored_and_not_asked_for_again(offer, server, folder: Path, monkeypatch) -> None:
    offer("right")
    folder = folder / "not" / "yet"
    monkeypatch.setenv("RTX_DATA", str(folder))
    path = fetch(NAME)
    assert path == folder / NAME and path.read_bytes() == CONTENT and held(folder) == [NAME]
    assert fetch(NAME) == path and server.seen == ["/right"]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask  # readable like any other new file


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("wrong", f"expected {hashlib.sha256(CONTENT).hexdigest()} but got {hashlib.sha256(WRONG).hexdigest()}"),
        ("short", r"cut short, 255,900 of 256,000 bytes"),
        ("cut", r"cut short, 255,900 of 256,000 bytes|IncompleteRead"),
        ("long", "more than the right 256,000 bytes"),
        ("missing", "HTTP Error 404"),
    ],
)
def test_a_wrong_answer_is_never_kept_and_the_next_mirror_is_tried(offer, server, folder: Path, how, said) -> None:
    offer(how)
    told = refused(said)
    for part in (NAME, f"/{how}", "To place it by hand", str(folder), "RTX_DATA", FILES[NAME].sha256):
        assert part in told
    offer(how, "right")
    assert fetch(NAME).read_bytes() == CONTENT
    assert server.seen == [f"/{how}", f"/{how}", "/right"] and held(folder) == [NAME]


def test_every_mirror_that_failed_is_named_with_its_answer(offer) -> None:
    offer("missing", "wrong")
    refused(r"/missing: HTTP Error 404.*; http.*/wrong: SHA256 hash .* does not match")


def test_no_network(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    with socket.socket() as closed:  # bound and never listening: a port that refuses for as long as we ask
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/file"
        monkeypatch.setitem(FILES, NAME, DataFile("0" * 64, 5, (url,)))
        refused(r"is not there, and no answer \(http.*refused")


@pytest.mark.parametrize("content", [b"", b"mine", WRONG])
def test_a_wrong_file_in_the_cache_is_replaced_by_a_good_download_only(offer, folder: Path, content: bytes) -> None:
    (folder / NAME).write_bytes(content)
    offer("wrong")
    refused(f"example.bin has {'the wrong SHA-256' if content == WRONG else f'{len(content)} bytes where'}")
    assert (folder / NAME).read_bytes() == content
    offer("right")
    assert fetch(NAME).read_bytes() == CONTENT and held(folder) == [NAME]


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, ConnectionResetError])
def test_an_interrupted_stream_leaves_nothing(offer, folder: Path, monkeypatch, error) -> None:
    offer("right")
    real = files.urllib.request.urlopen

    def breaks(*arguments: object, **options: object):
        answer = real(*arguments, **options)
        pieces = iter([answer.read1(100)])

        def read_once(count: int) -> bytes:
            for piece in pieces:
                return piece
            raise error("in the middle")

        answer.read1 = read_once
        return answer

    monkeypatch.setattr(files.urllib.request, "urlopen", breaks)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else DownloadError, match="in the middle"):
        fetch(NAME)
    assert held(folder) == []


# A folder that cannot be written. Tests may run as root, whom permission bits do not stop: calls are refused instead.


def refuse(*arguments: object, **options: object) -> None:
    raise PermissionError(30, "Read-only file system")


def test_a_read_only_cache_serves_a_good_file(offer, folder: Path, monkeypatch) -> None:
    offer("right")
    (folder / NAME).write_bytes(CONTENT)
    for function in ("replace", "rename", "mkdir", "unlink"):
        monkeypatch.setattr(os, function, refuse)
    assert fetch(NAME) == folder / NAME


@pytest.mark.parametrize("before", [None, b"mine"])
@pytest.mark.parametrize(("function", "asked"), [("tempfile.NamedTemporaryFile", []), ("shutil.move", ["/right"])])
def test_a_read_only_cache_without_the_file(offer, server, folder: Path, monkeypatch, function, asked, before) -> None:
    """It is known before anything is asked of the network, where it can be."""
    offer("right")
    if before:
        (folder / NAME).write_bytes(before)
    monkeypatch.setattr(function, refuse)
    assert "RTX_DATA" in refused(r"the folder is not writable \(.*Read-only")
    assert server.seen == asked


def test_a_folder_in_the_place_of_the_file(offer, folder: Path) -> None:
    offer("right")
    (folder / NAME).mkdir()
    refused("is not a file")
    assert held(folder / NAME) == []


def test_without_pooch_the_cache_serves_and_a_download_says_what_is_missing(offer, server, folder, monkeypatch) -> None:
    offer("right")
    monkeypatch.setitem(sys.modules, "pooch", None)
    refused(r"the package pooch is missing \(pip install pooch\)")
    assert "the package pooch is missing" in download.try_fetch(NAME) and server.seen == []
    (folder / NAME).write_bytes(CONTENT)
    assert fetch(NAME) == folder / NAME


# When the network is allowed


def test_no_download_where_it_is_forbidden(offer, server, monkeypatch) -> None:
    offer("right")
    monkeypatch.setenv("RTX_DOWNLOAD", "0")
    refused(r"is not there, and downloads are off \(RTX_DOWNLOAD=0\)")
    assert "RTX_DOWNLOAD=0" in download.try_fetch(NAME) and server.seen == []
    monkeypatch.setenv("RTX_DOWNLOAD", "no")
    with pytest.raises(ValueError, match="RTX_DOWNLOAD must be 0 or 1, got 'no'"):
        fetch(NAME)
    monkeypatch.setenv("RTX_DOWNLOAD", "1")
    assert fetch(NAME).exists()


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for home in ("HOME", "USERPROFILE"):  # the second on Windows
        monkeypatch.setenv(home, str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("RTX_DATA", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "rtx_lib"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "rtx_lib"
    monkeypatch.setenv("RTX_DATA", "~/data")
    assert cache_folder() == tmp_path / "data"


test_unknown_names_are_refused = refusals(
    {
        "name must be one of train-images.*, got 'mnist.gz'": lambda: fetch("mnist.gz"),
        "name must be one of train-images.*, got 'mnist'": lambda: fetch("mnist"),
        "name must be one of mnist, ptb.*, got '../x'": lambda: available("mnist", "../x"),
        "name must be .*, got None": lambda: available(),
    }
)


def test_available_verifies_and_asks_nobody(offer, server, folder: Path) -> None:
    offer("right")
    assert not available(NAME)
    (folder / NAME).write_bytes(WRONG)
    assert not available(NAME)
    (folder / NAME).write_bytes(CONTENT)
    assert available(NAME) and not available(NAME, "mnist")
    assert server.seen == []


# The command line and the table


def test_command_line(offer, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    offer("missing", "right")
    monkeypatch.setitem(GROUPS, "examples", (NAME,))
    assert download.main(["--list"]) == 0
    assert f"{NAME:29}     256,000 bytes   -" in capsys.readouterr().out
    assert download.main(["examples"]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == str(folder / NAME) and shown.err.endswith(f"{NAME} [####################] 100%\n")
    assert download.main([]) == 0
    assert f"{NAME:29}     256,000 bytes   here" in capsys.readouterr().out
    (folder / NAME).unlink()
    offer("missing")
    assert download.main([NAME]) == 1
    assert "HTTP Error 404" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        download.main(["nothing"])
    assert "got 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("group", [pytest.param(group, marks=pytest.mark.data(group)) for group in GROUPS])
def test_true_files_have_the_listed_hashes(group: str) -> None:
    assert available(group)


# What comes in little time


def test_a_mirror_that_says_nothing_is_left(offer, server, monkeypatch) -> None:
    offer("stalled")
    elsewhere = f"http://localhost:{server.server_port}/right"
    monkeypatch.setitem(FILES, NAME, FILES[NAME]._replace(mirrors=(*FILES[NAME].mirrors, elsewhere)))
    assert fetch(NAME, silent=0.2).read_bytes() == CONTENT
    assert server.seen == ["/stalled", "/right"]


def test_a_file_may_take_only_so_long(offer) -> None:
    offer("right", "right")
    refused("no time left", seconds=0)


def test_a_mirror_that_is_slow_meets_the_deadline(offer, monkeypatch) -> None:
    clock = iter(range(0, 1000, 50))  # every look at it is 50 seconds later
    monkeypatch.setattr(files.time, "monotonic", lambda: next(clock))
    offer("right")
    refused(r"too slow, .* in the time allowed", seconds=60)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("right", "Data: all 1 files are in the cache."),
        ("missing", "1 of 1 files could not be had .*no mirror has the right file.*: the chapters .* embedded data"),
        ("wrong", "1 of 1 files could not be had"),
        ("stalled", "1 of 1 files could not be had .*no answer"),
    ],
)
def test_trying_ends_in_one_line_and_status_0(offer, monkeypatch, capsys, how: str, said: str) -> None:
    monkeypatch.setattr(download, "TRY_SILENT", 0.2)
    offer(how)
    assert download.main(["--try", NAME]) == 0
    (line,) = capsys.readouterr().out.splitlines()[1:]
    assert re.search(said, line)


def test_a_host_that_is_silent_is_not_asked_again_and_others_are(offer, server, folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(download, "TRY_SILENT", 0.2)
    offer("stalled")
    offer("right", name="same.bin")
    offer("right", name="other.bin", host="localhost")
    assert "2 of 3 files" in download.try_fetch(NAME, "same.bin", "other.bin")
    assert server.seen == ["/stalled", "/right"] and held(folder) == ["other.bin"]
