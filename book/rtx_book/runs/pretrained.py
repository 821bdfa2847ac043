"""Weights that the book ships: pre-trained once by a recipe, read by whoever fine-tunes.

A file ``weights/NAME.npz`` in the folder of results holds the parameters in half precision, the words of the
vocabulary, how the model is built, by which recipe, seed and commit it was trained, under which licence it may be
shared, and the SHA-256 of all that. ``python -m rtx_book pretrain NAME`` makes it.
"""

import functools
import hashlib
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from rtx_book.paths import results_folder
from rtx_lib import models
from rtx_lib.tasks.vocabulary import Vocabulary
from rtx_lib.training.checkpoints import in_one_step

LICENCE = (
    "CC BY-SA 4.0. Trained on MASC (Ide et al. 2010, free to use), the valid and test files of WikiText-2 (Merity et "
    "al. 2016, CC BY-SA 3.0) and the dev and test files of UD English EWT (Silveira et al. 2014, CC BY-SA 4.0)."
)
KINDS: dict[str, Callable[..., nn.Module]] = {"bert": models.BERT, "gpt": models.GPT, "elmo": models.BidirectionalLM}
"""How a model is built from the number of words and its arguments."""

_ABOUT, _WORDS, _DIGEST = "about", "words", "sha256"


def weights_folder() -> Path:
    """Where the weights lie that the book ships."""
    return results_folder() / "weights"


def save(path: Path, model: nn.Module, words: Vocabulary, about: Mapping[str, Any]) -> None:
    """Write a model's parameters in half precision, its vocabulary and what there is to say ``about`` it, in one step.

    Raises
    ------
    NotWritten
        If writing fails.
    """
    arrays: dict[str, Any] = {f"p.{name}": p.detach().cpu().half().numpy() for name, p in model.state_dict().items()}
    arrays |= {_WORDS: _text("\n".join(words.words)), _ABOUT: _text(json.dumps(dict(about), sort_keys=True))}
    arrays[_DIGEST] = _text(_digest(arrays))
    with in_one_step(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(array))


def read(path: Path) -> tuple[dict[str, torch.Tensor], Vocabulary, dict[str, Any]]:
    """Parameters in single precision, vocabulary and what is said about them.

    Raises
    ------
    FileNotFoundError
        If there is no such file; the message says how to make it.
    ValueError
        If the file is damaged: it is no archive, or its contents do not have the digest that it names.
    """
    if not path.exists():
        make = f"python -m rtx_book pretrain {path.stem}"
        raise FileNotFoundError(f"no weights {path.name} in {path.parent}; make them with: {make}")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        digest = arrays.pop(_DIGEST).tobytes().decode()
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"{path.name} is damaged and cannot be read ({error}); get or make it anew") from error
    if digest != _digest(arrays):
        raise ValueError(f"{path.name} is damaged: its contents do not have the SHA-256 it names; get or make it anew")
    words = Vocabulary(arrays.pop(_WORDS).tobytes().decode().split("\n"))
    about = json.loads(arrays.pop(_ABOUT).tobytes().decode())
    parameters = {name.removeprefix("p."): torch.from_numpy(array).float() for name, array in arrays.items()}
    return parameters, words, about


def load(name: str, folder: Path | None = None, *, trained: bool = True) -> tuple[Any, Vocabulary]:
    """The model ``name``, as it was trained, and its vocabulary.

    Parameters
    ----------
    name
        Of a file in the folder, such as ``"bert-small"``.
    folder
        That of the book's weights if None.
    trained
        False for the same model before training, drawn from torch's generator: what fine-tuning is compared with.

    Raises
    ------
    FileNotFoundError, ValueError
        As :func:`read`; ``ValueError`` also if the parameters are not those of the model.
    """
    path = (folder or weights_folder()) / f"{name}.npz"
    parameters, words, about = read(path)
    model = KINDS[about["model"]](len(words), **about["arguments"])
    if trained:
        try:
            model.load_state_dict(parameters)
        except RuntimeError as error:
            raise ValueError(f"{path.name} does not hold the parameters of its model: {error}") from error
    return model, words


@functools.lru_cache(maxsize=8)
def vocabulary(name: str) -> Vocabulary:
    """The vocabulary of the weights ``name`` that the book ships."""
    return read(weights_folder() / f"{name}.npz")[1]


def _text(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of names, types, shapes and contents, in the order of the names."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(array.tobytes())
    return found.hexdigest()
