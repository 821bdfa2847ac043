"""Downloads against a server on this machine that lies in every way a server can."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rtx_lib.tasks import available, download, fetch
from rtx_lib.tasks.download import FILES, GROUPS, DataFile, DownloadError, cache_folder

CONTENT = bytes(range(256)) * 1_000  # several pieces of a stream
NAME = "example.bin"


class Answer(BaseHTTPRequestHandler):
    """The path says how to answer."""

    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        how = self.path.strip("/")
        if how == "missing":
            self.send_error(404)
            return
        if how == "stalled":
            self.server.released.wait()  # type: ignore[attr-defined]
            return
        body = {
            "right": CONTENT,
            "wrong": CONTENT[:-1] + b"\0",
            "short": CONTENT[:-100],
            "cut": CONTENT[:-100],
            "long": CONTENT + b"more",
        }[how]
        self.send_response(200)
        # "cut" promises the whole file and closes the connection early; "short" is honest about its length.
        self.send_header("Content-Length", str(len(CONTENT) if how == "cut" else len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("RTX_DOWNLOAD", raising=False)
    made = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    made.daemon_threads = False  # joined by server_close, so that no socket outlives its test
    made.seen = []  # type: ignore[attr-defined]
    made.released = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.released.set()  # type: ignore[attr-defined]
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def offer(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch):
    """Enter `NAME` into the table with these mirrors."""

    def enter(*how: str) -> None:
        mirrors = tuple(f"http://127.0.0.1:{server.server_port}/{word}" for word in how)
        monkeypatch.setitem(FILES, NAME, DataFile(hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), mirrors))

    return enter


def held(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_right_file_is_stored_and_not_asked_for_again(offer, server, tmp_path: Path) -> None:
    offer("right")
    folder = tmp_path / "not" / "yet"
    path = fetch(NAME, folder, progress=False)
    assert path == folder / NAME and path.read_bytes() == CONTENT and held(folder) == [NAME]
    assert fetch(NAME, folder, progress=False) == path and server.seen == ["/right"]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask  # readable like any other new file


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("wrong", "wrong SHA-256 [0-9a-f]{64}"),
        ("short", r"cut short, 255,900 of 256,000 bytes"),
        ("cut", r"cut short, 255,900 of 256,000 bytes|IncompleteRead"),
        ("long", "more than the right 256,000 bytes"),
        ("missing", "HTTP Error 404"),
    ],
)
def test_a_wrong_answer_is_never_kept(offer, tmp_path: Path, how: str, said: str) -> None:
    offer(how)
    with pytest.raises(DownloadError, match=said) as caught:
        fetch(NAME, tmp_path, progress=False)
    assert held(tmp_path) == []
    for part in (NAME, f"/{how}", "To place it by hand", str(tmp_path), "RTX_DATA", FILES[NAME].sha256):
        assert part in str(caught.value)


@pytest.mark.parametrize("how", ["missing", "wrong", "short", "cut", "long"])
def test_the_second_mirror_is_tried(offer, server, tmp_path: Path, how: str) -> None:
    offer(how, "right")
    assert fetch(NAME, tmp_path, progress=False).read_bytes() == CONTENT
    assert server.seen == [f"/{how}", "/right"] and held(tmp_path) == [NAME]


def test_every_mirror_that_failed_is_named_with_its_answer(offer, tmp_path: Path) -> None:
    offer("missing", "wrong")
    with pytest.raises(DownloadError, match=r"/missing: HTTP Error 404.*; http.*/wrong: wrong SHA-256"):
        fetch(NAME, tmp_path, progress=False)


def test_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as closed:  # bound and never listening: a port that refuses for as long as we ask
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/file"
        monkeypatch.setitem(FILES, NAME, DataFile("0" * 64, 5, (url,)))
        with pytest.raises(DownloadError, match=r"is not there, and no mirror served it \(http.*refused"):
            fetch(NAME, tmp_path, download=True, progress=False)
    assert held(tmp_path) == []


def test_a_wrong_file_in_the_cache_is_replaced_by_a_good_download(offer, tmp_path: Path) -> None:
    offer("right")
    for content in (b"", CONTENT[:-1] + b"\0"):
        (tmp_path / NAME).write_bytes(content)
        assert fetch(NAME, tmp_path, progress=False).read_bytes() == CONTENT
    assert held(tmp_path) == [NAME]


def test_a_wrong_file_in_the_cache_stays_when_no_mirror_is_good(offer, tmp_path: Path) -> None:
    offer("wrong")
    (tmp_path / NAME).write_bytes(b"mine")
    with pytest.raises(DownloadError, match=r"example.bin has 4 bytes where 256,000 are right"):
        fetch(NAME, tmp_path, progress=False)
    assert (tmp_path / NAME).read_bytes() == b"mine" and held(tmp_path) == [NAME]


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError, ConnectionResetError])
def test_an_interrupted_stream_leaves_nothing(offer, tmp_path: Path, monkeypatch, error) -> None:
    offer("right")
    real = download.urllib.request.urlopen

    def breaks(*arguments: object, **options: object):
        answer = real(*arguments, **options)
        read, calls = answer.read1, []

        def read_once(count: int) -> bytes:
            calls.append(count)
            if len(calls) > 1:
                raise error("in the middle")
            return read(count)

        answer.read1 = read_once
        return answer

    monkeypatch.setattr(download.urllib.request, "urlopen", breaks)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else DownloadError, match="in the middle"):
        fetch(NAME, tmp_path, progress=False)
    assert held(tmp_path) == []


def test_a_read_only_cache_serves_a_good_file(offer, tmp_path: Path, monkeypatch) -> None:
    offer("right")
    (tmp_path / NAME).write_bytes(CONTENT)
    for function in ("replace", "mkdir", "unlink"):
        monkeypatch.setattr(os, function, refuse)
    assert fetch(NAME, tmp_path) == tmp_path / NAME


def refuse(*arguments: object, **options: object) -> None:
    raise PermissionError(30, "Read-only file system")


@pytest.mark.parametrize("before", [None, b"mine"])
def test_a_read_only_cache_without_the_file(offer, server, tmp_path: Path, monkeypatch, before) -> None:
    """Tests may run as root, whom permission bits do not stop: opening for writing is refused instead."""
    offer("right")
    if before:
        (tmp_path / NAME).write_bytes(before)
    real = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, mode="r", *rest: refuse() if "w" in mode else real(path, mode, *rest)
    )
    with pytest.raises(DownloadError, match=r"its folder is not writable: .*Read-only") as caught:
        fetch(NAME, tmp_path, progress=False)
    assert str(tmp_path) in str(caught.value) and "RTX_DATA" in str(caught.value)
    assert server.seen == []  # known before anything was asked of the network
    assert held(tmp_path) == ([NAME] if before else [])


def test_a_move_that_is_refused_leaves_nothing(offer, tmp_path: Path, monkeypatch) -> None:
    offer("right")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(DownloadError, match=r"its folder is not writable: .*Read-only"):
        fetch(NAME, tmp_path, progress=False)
    assert held(tmp_path) == []


def test_a_cache_folder_that_cannot_be_made(offer, tmp_path: Path) -> None:
    offer("right")
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DownloadError, match="is not there, and its folder is not writable"):
        fetch(NAME, tmp_path / "file" / "cache", progress=False)


def test_a_folder_in_the_place_of_the_file(offer, tmp_path: Path) -> None:
    offer("right")
    (tmp_path / NAME).mkdir()
    with pytest.raises(DownloadError, match="is not a file"):
        fetch(NAME, tmp_path, progress=False)
    assert held(tmp_path) == [NAME]


# When the network is allowed


@pytest.mark.parametrize(
    ("variable", "argument", "allowed"),
    [(None, None, True), ("1", None, True), ("0", None, False), ("0", True, True), ("1", False, False)],
)
def test_who_allows_downloads(offer, server, tmp_path: Path, monkeypatch, variable, argument, allowed) -> None:
    offer("right")
    if variable is not None:
        monkeypatch.setenv("RTX_DOWNLOAD", variable)
    if allowed:
        assert fetch(NAME, tmp_path, download=argument, progress=False).exists()
    else:
        with pytest.raises(DownloadError, match=r"is not there, and downloads are off"):
            fetch(NAME, tmp_path, download=argument, progress=False)
        assert server.seen == [] and held(tmp_path) == []


def test_rtx_download_must_be_zero_or_one(offer, tmp_path: Path, monkeypatch) -> None:
    offer("right")
    monkeypatch.setenv("RTX_DOWNLOAD", "no")
    with pytest.raises(ValueError, match="RTX_DOWNLOAD is 'no'; it must be 0 or 1"):
        fetch(NAME, tmp_path)


def test_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("RTX_DATA", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "rtx_lib"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "rtx_lib"
    monkeypatch.setenv("RTX_DATA", "~/data")
    assert cache_folder() == tmp_path / "data"
    assert cache_folder(tmp_path / "mine") == tmp_path / "mine"


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name is 'mnist.gz'; it must be one of train-images"):
        fetch("mnist.gz", tmp_path)
    with pytest.raises(ValueError, match=r"name is '../x'; allowed are mnist, ptb"):
        available("../x", root=tmp_path)
    with pytest.raises(ValueError, match="no name is given"):
        available(root=tmp_path)


def test_available_verifies_and_asks_nobody(offer, server, tmp_path: Path) -> None:
    offer("right")
    assert not available(NAME, root=tmp_path)
    (tmp_path / NAME).write_bytes(CONTENT[:-1] + b"\0")
    assert not available(NAME, root=tmp_path)
    (tmp_path / NAME).write_bytes(CONTENT)
    assert available(NAME, root=tmp_path) and not available(NAME, "mnist", root=tmp_path)
    assert server.seen == []


def test_progress_goes_to_standard_error(offer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offer("right")
    fetch(NAME, tmp_path)
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.endswith(f"{NAME} [####################] 100%\n")


# The command line and the table


def test_command_line(offer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    offer("missing", "right")
    monkeypatch.setitem(GROUPS, "examples", (NAME,))
    root = ["--root", str(tmp_path)]
    assert download.main(["--list", *root]) == 0
    assert f"{NAME:27}     256,000 bytes   -" in capsys.readouterr().out
    assert download.main(["examples", *root]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / NAME)
    assert download.main(root) == 0
    assert f"{NAME:27}     256,000 bytes   here" in capsys.readouterr().out
    (tmp_path / NAME).unlink()
    offer("missing")
    assert download.main([NAME, *root]) == 1
    assert "HTTP Error 404" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        download.main(["nothing", *root])
    assert "name is 'nothing'" in capsys.readouterr().err


def test_command_line_starts_without_warnings(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "rtx_lib.tasks.download", "--list", "--root", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""
    assert all(name in done.stdout for name in FILES) and held(tmp_path) == []


def test_table() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(FILES)
    for name, wanted in FILES.items():
        assert len(bytes.fromhex(wanted.sha256)) == 32 and wanted.size > 0 and wanted.mirrors
        assert all(url.startswith("https://") and "{" not in url for url in wanted.mirrors), name
    assert len(FILES["t10k-labels-idx1-ubyte.gz"].mirrors) == 2


def of_true_files(group: str) -> pytest.MarkDecorator:
    """What a test of these files needs: enwik8, 36 MB, is checked where it is and required nowhere."""
    if group == "enwik8":
        return pytest.mark.skipif(not available(group), reason="the cache lacks enwik8")
    return pytest.mark.data(group)


@pytest.mark.parametrize("group", [pytest.param(group, marks=of_true_files(group)) for group in GROUPS])
def test_true_files_have_the_listed_hashes(group: str) -> None:
    assert available(group)


# ------------------------------------------------------------------------------------------ what comes in little time


def test_a_mirror_that_says_nothing_is_left(offer, server, tmp_path: Path) -> None:
    offer("stalled", "right")
    assert fetch(NAME, tmp_path, progress=False, silent=0.2).read_bytes() == CONTENT
    assert server.seen == ["/stalled", "/right"]


def test_a_file_may_take_only_so_long(offer, tmp_path: Path) -> None:
    offer("right", "right")
    with pytest.raises(DownloadError, match="no time left"):
        fetch(NAME, tmp_path, progress=False, seconds=0)
    assert held(tmp_path) == []


def test_a_mirror_that_is_slow_meets_the_deadline(offer, tmp_path: Path, monkeypatch) -> None:
    clock = iter(range(0, 1000, 50))  # every look at it is 50 seconds later
    monkeypatch.setattr(download.time, "monotonic", lambda: next(clock))
    offer("right")
    with pytest.raises(DownloadError, match=r"too slow, .* in the time allowed"):
        fetch(NAME, tmp_path, progress=False, seconds=60)
    assert held(tmp_path) == []


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("right", "Data: all 1 files are in the cache."),
        ("missing", "1 of 1 files could not be had .*no mirror has the right file.*: the chapters .* embedded data"),
        ("wrong", "1 of 1 files could not be had"),
        ("stalled", "1 of 1 files could not be had .*no answer"),
    ],
)
def test_trying_ends_in_one_line_and_status_0(offer, tmp_path: Path, monkeypatch, capsys, how: str, said: str) -> None:
    monkeypatch.setattr(download, "TRY_SILENT", 0.2)
    offer(how)
    assert download.main(["--try", NAME, "--root", str(tmp_path)]) == 0
    (line,) = capsys.readouterr().out.splitlines()[1:]
    assert re.search(said, line)


def test_a_host_that_is_silent_is_not_asked_again_and_others_are(offer, server, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(download, "TRY_SILENT", 0.2)
    offer("stalled")
    monkeypatch.setitem(FILES, "same.bin", FILES[NAME])
    elsewhere = (f"http://localhost:{server.server_port}/right",)
    monkeypatch.setitem(FILES, "other.bin", FILES[NAME]._replace(mirrors=elsewhere))
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    assert "2 of 3 files" in download.try_fetch(NAME, "same.bin", "other.bin", root=tmp_path)
    assert server.seen == ["/stalled", "/right"] and held(tmp_path) == ["other.bin"]


def test_trying_asks_nobody_where_downloads_are_off(offer, server, tmp_path: Path, monkeypatch) -> None:
    offer("right")
    monkeypatch.setenv("RTX_DOWNLOAD", "0")
    assert "RTX_DOWNLOAD=0" in download.try_fetch(NAME, root=tmp_path) and server.seen == []


def test_trying_with_a_folder_that_cannot_be_written(offer, tmp_path: Path) -> None:
    offer("right")
    (tmp_path / "file").write_text("no folder")
    assert "not writable" in download.try_fetch(NAME, root=tmp_path / "file" / "cache")
