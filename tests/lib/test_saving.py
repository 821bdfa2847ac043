"""A model with its task in one file: every model comes back, and no other file does."""

import json
import pickle
import struct
from functools import partial

import pytest
import torch
from lib.models.test_contract import MODELS, example, make
from support.helpers import drawn
from torch import nn

from rtx_lib import GPT, LSTM, Mamba, Readout, TextTask, TransformerXL, generate, load, save, saving
from rtx_lib.layers import MixerStack
from rtx_lib.tasks import AddingProblem
from rtx_lib.training.checkpoints import NotWritten

TASK = TextTask("naïve ❤️ text\n" * 40, 5)
V = TASK.vocabulary
FUNCTIONS = ("mixers-lstm", "mixers-convolved", "mixers-indrnn")  # a mixer made by a lambda
OTHERS = ("retention", "retention-heads")  # a module of the test's own around it


@pytest.fixture
def path(tmp_path):
    return tmp_path / "mine.safetensors"


@pytest.fixture
def saved(path):
    save(path, drawn(0, lambda: Readout(LSTM(V, 4), TASK)), TASK)
    return path.read_bytes()


@pytest.mark.parametrize("name", [name for name in MODELS if name not in FUNCTIONS + OTHERS])
def test_every_model_comes_back(name, path):
    model, x = make(name), example(name)  # in float64, which is kept
    save(path, model, TASK)
    state = torch.get_rng_state()
    again, task = load(path)
    assert torch.get_rng_state().equal(state) and type(again) is type(model) and not again.training
    assert again(x)[0].equal(model(x)[0]) and task.decode(task.encode("naïve ❤️")) == "naïve ❤️"


@pytest.mark.parametrize("level", ["character", "word", "bytes", "pieces"])
def test_what_is_loaded_writes_on(level, path):
    task = TextTask("naïve ❤️ text\n" * 40, 5, level)
    model = drawn(0, lambda: Readout(LSTM(3, 8), task))
    save(str(path), model, task)
    assert generate(*load(str(path)), "text ", 20) == generate(model, task, "text ", 20)
    with pytest.raises(ValueError, match="task must hold data"):
        load(path)[1].batch("train", 2, torch.Generator())


def test_what_was_changed_since_it_was_made(path):
    model = TransformerXL(V, V, width=8, heads=2, layers=1, memory=4, vocabulary=V)
    model.memory, model.same_length = 9, True
    save(path, model, TASK)
    assert load(path)[0].memory == 9 and load(path)[0].same_length
    model = Readout(LSTM(V, 4), TASK)
    model.core = LSTM(V, 4, backend="torch")
    save(path, model, TASK)
    assert load(path)[0].core.backend == "torch"
    model.linear = nn.Linear(4, 9)
    with pytest.raises(ValueError, match="model must have the weights that its constructor makes, to be saved"):
        save(path, model, TASK)


def test_a_model_made_with_a_lambda_can_still_be_pickled():
    model = MODELS[FUNCTIONS[0]]()
    assert pickle.loads(pickle.dumps(model)).state_dict().keys() == model.state_dict().keys()


@pytest.mark.parametrize("mixer", [Mamba, partial(Mamba, state_size=3), partial(LSTM, hidden_size=8)], ids=str)
def test_a_mixer_is_a_class_with_options(mixer, path):
    model = MixerStack(V, V, mixer, width=8, layers=2, vocabulary=V)
    save(path, model, TASK)
    x = TASK.encode("text")[None]
    assert load(path)[0](x)[0].equal(model(x)[0])


class Mine(LSTM):
    """A reader's own."""


@pytest.mark.parametrize(
    "model, task, told",
    [
        (partial(Readout, Mine(V, 4), V), TASK, "core must be a module or class of rtx_lib, .*, to be saved, got Mine"),
        (partial(nn.Linear, 2, 2), TASK, "model must be a module or class of rtx_lib, .* got Linear"),
        (MODELS[FUNCTIONS[0]], TASK, "mixer must be .*, or functools.partial of one, to be saved, got function"),
        (partial(LSTM, 2, 2), AddingProblem(5), "task must be one that can be saved, .*TextTask.*, got AddingProblem"),
    ],
)
def test_what_cannot_be_saved_leaves_the_file_as_it_was(model, task, told, path):
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match=told):
        save(path, model(), task)
    assert path.read_bytes() == b"old" and len([*path.parent.iterdir()]) == 1


def test_a_file_that_cannot_be_written(path, monkeypatch):
    path.mkdir()
    with pytest.raises(NotWritten, match="could not be written"):
        save(path, LSTM(2, 2), TASK)
    assert len([*path.parent.iterdir()]) == 1


def test_a_file_cut_off_anywhere(path, saved):
    for end in [*range(0, len(saved), 41), len(saved) - 1]:
        path.write_bytes(saved[:end])
        with pytest.raises(ValueError, match=r"path must be a whole file that rtx_lib.save wrote, got .*mine"):
            load(path)


def with_header(content, change):
    """The file with another header."""
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"]["rtx_lib"] = change(header["__metadata__"]["rtx_lib"])
    new = json.dumps(header).encode()
    return struct.pack("<Q", len(new)) + new + content[8 + size :]


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda s: b"PK\3\4" * 99, "cut off, damaged or of another kind"),
        (lambda s: bytes(range(256)) * 9, "cut off, damaged or of another kind"),
        (lambda s: s.replace(b"rtx_lib", b"someone"), "cut off, damaged or of another kind"),
        (lambda s: with_header(s, lambda h: h[:-9]), "cut off, damaged or of another kind"),
        (lambda s: with_header(s, lambda h: "[" * 9999), "cut off, damaged or of another kind"),
        (lambda s: with_header(s, lambda h: "3"), "cut off, damaged or of another kind"),
        (lambda s: with_header(s, lambda h: h.replace('"version": 1', '"version": 2')), "of version 2, while"),
        (lambda s: with_header(s, lambda h: h.replace("hidden_size", "size")), "do not fit"),
        (lambda s: with_header(s, lambda h: h.replace('"hidden_size": 4', '"hidden_size": 5')), "do not fit"),
        (lambda s: with_header(s, lambda h: h.replace('"LSTM"', '"Linear"')), "do not fit"),
        (lambda s: with_header(s, lambda h: h.replace('"LSTM"', '"partial"')), "do not fit"),
        (lambda s: with_header(s, lambda h: h.replace('"TextTask"', '"fetch"')), "do not fit"),
        (lambda s: with_header(s, lambda h: h.replace('"level"', '"levels"')), "do not fit"),
        (lambda s: with_header(s, lambda h: h.replace('"model"', '"models"')), "do not fit"),
    ],
)
def test_another_file(change, told, path, saved):
    path.write_bytes(change(saved))
    with pytest.raises(ValueError, match=f"path must be a whole file that rtx_lib.save wrote, got .*{told}") as error:
        load(path)
    assert "\n" not in str(error.value)


def test_no_file_is_what_the_system_says(path):
    with pytest.raises(FileNotFoundError):
        load(path)


def test_only_classes_of_the_library_are_known():
    known = {**saving.MODULES, **saving.TASKS}
    assert {"LSTM", "GPT", "TextTask"} <= known.keys() and GPT in known.values()
    assert all(kind.__module__.startswith("rtx_lib.") for kind in known.values())
