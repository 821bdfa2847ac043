"""The Transformers' files, of other sizes, and with a mistake planted in them."""

import numpy as np
import pytest
import torch
from official import check
from reference import official_transformers
from reference.transformer_loops import make_annotated, make_torch

TORCH = ("transformer_torch_post", "transformer_torch_pre")


def alter(path, **changes):
    """The file with some arrays changed by functions of all arrays."""
    arrays = dict(np.load(path))
    np.savez(path, **arrays | {name: change(arrays) for name, change in changes.items()})
    return path


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"gradients": True},
        {"width": 12, "heads": 3, "inner": 7, "layers": 2, "seed": 1},
        {"causal": False, "targets": 6, "gradients": True, "seed": 2},
        {"batch": 1, "sources": 1, "targets": 1, "vocabularies": (1, 1)},
        {"heads": 8, "sources": 2, "targets": 7, "vocabularies": (3, 40)},
        {"width": 2, "heads": 1, "inner": 1, "batch": 5, "gradients": True},
        {"decoder": (2, 7), "gradients": True},
        {"layers": 3, "decoder": (1, 5), "seed": 3},
    ],
    ids=str,
)
def test_annotated_of_other_sizes(tmp_path, sizes):
    """All outcomes, and every gradient equals autograd's through loops over heads, queries and keys."""
    path = make_annotated(tmp_path / "transformer_annotated_other.npz", **sizes)
    errors = check(path)
    gradients = {n.replace("p/", "g/") for n in np.load(path).files if n[:2] == "p/" and sizes.get("gradients")}
    assert set(errors) == {"memory", "decoded", "logp", "pe"} | gradients
    assert max(errors.values()) < 1e-9


@pytest.mark.parametrize("family", TORCH)
@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"every": True, "layers": 3, "heads": 4, "inner": 11, "seed": 1},
        {"every": True, "bias": False},
        {"causal": False, "heads": 1, "length": 9, "seed": 2},
        {"batch": 1, "length": 1, "width": 2, "inner": 1},
        {"gradients": False, "batch": 5, "width": 12, "heads": 6},
    ],
    ids=str,
)
def test_torch_of_other_sizes(tmp_path, family, sizes):
    path = make_torch(tmp_path / f"{family}_other.npz", **sizes)
    errors = check(path)
    every = {n.replace("p/", "g/") for n in np.load(path).files if n[:2] == "p/" and sizes.get("every")}
    assert set(errors) == {"out"} | ({"gx"} if sizes.get("gradients", True) else set()) | every
    assert max(errors.values()) < 1e-9


WRONG = [
    ("annotated", "memory"),
    ("annotated", "decoded"),
    ("annotated", "logp"),
    ("annotated", "pe"),
    ("annotated", "g/encoder.layers.0.self_attn.linears.1.weight"),
    ("annotated", "g/decoder.layers.0.src_attn.linears.2.bias"),
    ("annotated", "g/decoder.norm.a_2"),
    ("torch_pre", "out"),
    ("torch_pre", "gx"),
    ("torch_pre", "g/norm.weight"),
    ("torch_post", "g/layers.1.self_attn.in_proj_bias"),
]


def make(tmp_path, kind):
    path = tmp_path / f"transformer_{kind}.npz"
    return make_annotated(path, gradients=True) if kind == "annotated" else make_torch(path, layers=2, every=True)


@pytest.mark.parametrize("kind, name", WRONG)
def test_a_wrong_number_is_seen(tmp_path, kind, name):
    path = alter(make(tmp_path, kind), **{name: lambda arrays: arrays[name] + 1e-3})
    errors = check(path)
    assert errors.pop(name) == pytest.approx(1e-3, rel=1e-6) and max(errors.values()) < 1e-9


@pytest.mark.parametrize("kind", ["annotated", "torch_pre"])
@pytest.mark.parametrize("name", ["surprise", "g/surprise", "gh0", "b1/norm"])
def test_unknown_arrays_are_refused(tmp_path, kind, name):
    path = alter(make(tmp_path, kind), **{name: lambda _: np.zeros(1)})
    with pytest.raises(ValueError, match=f"also holds .*{name}"):
        check(path)


@pytest.mark.parametrize("kind, name", [("annotated", "logp"), ("torch_post", "gx")])
def test_outcomes_of_another_shape_are_refused(tmp_path, kind, name):
    """Not broadcast: here every row of the file's would be the right one."""
    path = alter(make(tmp_path, kind), **{name: lambda arrays: arrays[name][None]})
    with pytest.raises(ValueError, match=rf"{name} of .* must have \(2, .*, got \(1, 2, "):
        check(path)


def test_unknown_parameters_are_refused(tmp_path):
    path = alter(make(tmp_path, "torch_post"), **{"p/norm.weight": lambda _: np.ones(8)})
    with pytest.raises(RuntimeError, match=r"norm\.weight"):
        check(path)


def swap(arrays, first, second):
    """Query, key or value maps of the first attention, exchanged."""
    at = "p/encoder.layers.0.self_attn.linears"
    return {
        f"{at}.{a}.{part}": arrays[f"{at}.{b}.{part}"]
        for part in ("weight", "bias")
        for a, b in ((first, second), (second, first))
    }


MISTAKES = {
    "queries and keys swapped": lambda a: swap(a, 0, 1),
    "keys and values swapped": lambda a: swap(a, 1, 2),
    "value and output maps swapped": lambda a: swap(a, 2, 3),
    "scale left out": lambda a: {
        f"p/encoder.layers.0.self_attn.linears.0.{part}": a[f"p/encoder.layers.0.self_attn.linears.0.{part}"] * 2
        for part in ("weight", "bias")
    },
    "other heads": lambda a: {"n_head": np.array(4)},
    "source mask ignored": lambda a: {"src_mask": np.ones_like(a["src_mask"])},
    "target mask one too far": lambda a: {"tgt_mask": np.tril(np.ones((1, 3, 3), bool), 1)},
    "target mask one too short": lambda a: {"tgt_mask": np.array([[[1, 0, 0], [1, 0, 0], [1, 1, 0]]])},
    "embedding not scaled": lambda a: {"p/src_embed.0.lut.weight": a["p/src_embed.0.lut.weight"] / 8**0.5},
    "two norms swapped": lambda a: {
        f"p/encoder.layers.0.sublayer.{j}.norm.a_2": a[f"p/encoder.layers.0.sublayer.{1 - j}.norm.a_2"] for j in (0, 1)
    },
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_another_model_is_seen(tmp_path, mistake):
    """The mistakes that an implementation makes, made in the file instead."""
    path = make_annotated(tmp_path / "transformer_annotated.npz", gradients=True)
    changed = MISTAKES[mistake](dict(np.load(path)))
    errors = check(alter(path, **{name: lambda _, value=value: value for name, value in changed.items()}))
    assert errors["logp"] > 1e-4 and errors["g/decoder.layers.0.self_attn.linears.0.weight"] > 1e-6


@pytest.mark.parametrize("family", TORCH)
def test_the_other_order_of_norms_is_seen(tmp_path, family, monkeypatch):
    path = make_torch(tmp_path / f"{family}.npz")
    arrays = {name: torch.from_numpy(value) for name, value in np.load(path).items()}
    other = "pre" if "post" in family else "post"
    arrays |= {"p/norm.weight": torch.ones(8), "p/norm.bias": torch.zeros(8)} if other == "pre" else {}
    arrays = {n: v for n, v in arrays.items() if other == "pre" or not n.startswith("p/norm")}
    assert (official_transformers.torch_stack(arrays, other)["out"] - arrays["out"]).abs().max() > 1e-2


@pytest.mark.parametrize("family", TORCH)
def test_a_mask_that_is_not_there_is_seen(tmp_path, family):
    path = alter(make_torch(tmp_path / f"{family}.npz"), causal=lambda _: np.array(0))
    assert min(check(path).values()) > 1e-3
