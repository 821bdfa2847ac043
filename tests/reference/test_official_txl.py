"""Transformer-XL's files, of other sizes, with the authors' fault, and with a mistake planted in them."""

import numpy as np
import pytest
import torch
from official import check
from reference.txl_loops import MISTAKES, SETTINGS, make_txl, transformer_xl
from support.helpers import FIXTURES

SIZES = [
    {},
    {"tied": False, "segments": 1},
    {"layers": 1, "heads": 1, "batch": 1, "length": 1, "segments": 5, "memory": 3},
    {"layers": 3, "head_width": 3, "memory": 2, "length": 5},
    {"layers": 11, "width": 2, "heads": 2, "inner": 1, "length": 2, "segments": 2},
    {"memory": 0},
    {"memory": 20, "segments": 5},
    {"memory": 1, "length": 4},
    {"same_length": True},
    {"same_length": True, "memory": 1, "clamp": 1},
    {"same_length": True, "memory": 9, "clamp": 5, "segments": 4, "pre": True},
    {"clamp": 2, "pre": True, "memory": 5},
    {"clamp": 0, "pre": True, "batch": 3},
    {"cutoffs": (3, 7)},
    {"cutoffs": (3, 7), "divide": 2},
    {"cutoffs": (3, 7), "divide": 2, "embed": 12, "tied_projections": (1, 2)},
    {"cutoffs": (4,), "embed": 6, "tied_projections": (0, 1), "pre": True},
    {"cutoffs": (1, 2, 3, 10), "embed": 3, "memory": 0},
    {"cutoffs": (5,), "tied": False, "divide": 4, "tied_projections": (0,), "length": 6},
    {"embed": 5},
    {"embed": 5, "tied": False},
    {"divide": 2},
]
QUIRK = FIXTURES / "txl_extlen_officialquirk.npz"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A file without cut-offs, made once."""
    return make_txl(tmp_path_factory.mktemp("plain") / "txl_plain.npz")


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory):
    """A file with an adaptive softmax."""
    path = tmp_path_factory.mktemp("adaptive") / "txl_adaptive.npz"
    return make_txl(path, cutoffs=(3, 7), divide=2, tied_projections=(1, 2))


def alter(path, tmp_path, **changes):
    """A copy of the file with some arrays changed by functions of all arrays."""
    arrays = dict(np.load(path))
    np.savez(tmp_path / path.name, **arrays | {name: change(arrays) for name, change in changes.items()})
    return tmp_path / path.name


def claims(path):
    """The names of all outcomes in the file."""
    names = np.load(path).files
    inside = {n for n in names if n.startswith("seg") and not n.endswith(("inp", "tgt"))}
    return inside - {"segments"} | {n for n in names if n.startswith("g/")}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_other_sizes(tmp_path, sizes):
    """Losses, memories and every gradient equal those of loops over queries, keys and ids."""
    path = make_txl(tmp_path / "txl_other.npz", seed=len(str(sizes)), **sizes)
    errors = check(path)
    assert set(errors) == claims(path)
    memories = sizes.get("layers", 2) + 1 if sizes.get("memory") != 0 else 0
    assert len([name for name in errors if name.startswith("seg")]) == sizes.get("segments", 3) * (2 + memories)
    assert max(errors.values()) < 1e-9


@pytest.mark.parametrize("name", sorted({path.stem for path in FIXTURES.glob("txl_*.npz")} - {"txl_relshift"}))
def test_the_loops_are_the_authors_code_too(name):
    """So that the files made from them say something; with its fault, in the file that has it."""
    arrays = {n: v for n, v in np.load(FIXTURES / f"{name}.npz").items()}
    aliases = dict(pair.split("=") for pair in arrays.pop("aliases"))
    tensors = {n: torch.from_numpy(v) for n, v in arrays.items()}
    p = {n.removeprefix("p/"): v.requires_grad_() for n, v in tensors.items() if n.startswith("p/")}
    official = {"heads": "n_head", "head_width": "d_head", "layers": "n_layer", "vocabulary": "n_token"}
    official |= {"width": "d_model", "memory": "mem_len", "ext_len": "ext_len", "same_length": "same_length"}
    official |= {"clamp": "clamp_len", "pre": "pre_lnorm", "divide": "div_val"}
    c = {own: arrays[theirs].item() for own, theirs in official.items()}
    c |= {"cutoffs": arrays["cutoffs"].tolist(), "quirk": "quirk" in name}
    segments = [(tensors[f"seg{s}/inp"], tensors[f"seg{s}/tgt"]) for s in range(arrays["n_segments"])]
    outcomes, loss = transformer_xl(p | {alias: p[n] for alias, n in aliases.items()}, segments, c)
    gradients = torch.autograd.grad(loss, list(p.values()), allow_unused=True, materialize_grads=True)
    outcomes |= {f"g/{n}": gradient for n, gradient in zip(p, gradients, strict=True)}
    assert set(outcomes) == claims(FIXTURES / f"{name}.npz")
    for n, value in outcomes.items():
        torch.testing.assert_close(value.detach(), tensors[n], rtol=0, atol=1e-12)


def check_the_fault(errors):
    """Of the first segment all but the memory is right; what later segments read is not what it should be."""
    first = {name: error for name, error in errors.items() if name.startswith("seg0/")}
    memories = [first.pop(name) for name in list(first) if "mem" in name]
    assert len(first) == 2 and max(first.values()) < 1e-9 and min(memories) > 1e-3
    assert max(error for name, error in errors.items() if name.endswith("nll")) > 1e-3


def test_the_authors_fault_is_seen(tmp_path):
    """Their code keeps rows that it is about to compute again, as two arguments change places."""
    check_the_fault(check(QUIRK))
    path = make_txl(tmp_path / "txl_extlen.npz", ext_len=2, quirk=True, length=4)
    check_the_fault(check(path))
    assert set(check(path)) == claims(path)
    # Without extended context nothing depends on the order of the two.
    assert max(check(make_txl(tmp_path / "txl_extlen.npz", quirk=True)).values()) < 1e-9


@pytest.mark.parametrize(
    "sizes", [{"ext_len": 2}, {"ext_len": 5, "memory": 3}, {"ext_len": 1, "same_length": True, "pre": True}], ids=str
)
def test_without_the_fault_extended_context_is_right(tmp_path, sizes):
    path = make_txl(tmp_path / "txl_extlen.npz", **sizes)
    errors = check(path)
    assert set(errors) == claims(path) and max(errors.values()) < 1e-9


@pytest.mark.parametrize("mistake", [*MISTAKES, *SETTINGS])
def test_another_model_is_seen(tmp_path, mistake):
    """In the outcome that it touches first and in gradients; what comes before is right."""
    settings, first = SETTINGS[mistake] if mistake in SETTINGS else ({}, MISTAKES[mistake])
    sizes = {"memory": 4, "length": 5, **settings}
    errors = check(make_txl(tmp_path / "txl_other.npz", mistake=mistake, **sizes))
    order = [f"seg{s}/{part}" for s in range(3) for part in ("mem0", "mem1", "mem2", "hidden_top", "nll")]
    assert errors[first] > 1e-3
    assert all(errors[name] < 1e-9 for name in [*order, first][: [*order, first].index(first)])
    if mistake != "losses in order":  # which the mean does not notice
        assert max(error for name, error in errors.items() if name.startswith("g/")) > 1e-3
    assert max(check(make_txl(tmp_path / "txl_other.npz", **sizes)).values()) < 1e-9, "without it, all is right"


WRONG = [
    "seg0/nll",
    "seg2/nll",
    "seg1/hidden_top",
    "seg0/mem0",
    "seg1/mem2",
    "seg2/mem1",
    "g/r_w_bias",
    "g/r_r_bias",
    "g/word_emb.emb_layers.0.weight",
    "g/crit.out_layers.0.bias",
    "g/layers.1.dec_attn.qkv_net.weight",
    "g/layers.0.dec_attn.r_net.weight",
    "g/layers.0.pos_ff.CoreNet.3.bias",
]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_number_is_seen(plain, tmp_path, name):
    def change(arrays):
        changed = arrays[name].copy()
        changed.flat[-1] += 1e-3
        return changed

    errors = check(alter(plain, tmp_path, **{name: change}))
    assert errors.pop(name) == pytest.approx(1e-3, rel=1e-6) and max(errors.values()) < 1e-9


@pytest.mark.parametrize(
    "name",
    [
        "seg1/nll",
        "g/crit.cluster_weight",
        "g/crit.cluster_bias",
        "g/crit.out_projs.0",
        "g/word_emb.emb_projs.1",
        "g/word_emb.emb_layers.2.weight",
        "g/crit.out_layers.1.bias",
    ],
)
def test_a_wrong_number_of_the_adaptive_softmax_is_seen(adaptive, tmp_path, name):
    errors = check(alter(adaptive, tmp_path, **{name: lambda arrays: arrays[name] + 1e-3}))
    assert errors.pop(name) == pytest.approx(1e-3, rel=1e-6) and max(errors.values()) < 1e-9


OTHER = {"mem_len": 3, "clamp_len": 1, "same_length": True, "pre_lnorm": True, "n_head": 1}


@pytest.mark.parametrize("name", OTHER)
def test_other_settings_are_seen(plain, tmp_path, name):
    changes = {name: lambda _: np.array(OTHER[name])}
    if name == "n_head":
        changes |= {"d_head": lambda _: np.array(8)}
        changes |= {f"p/r_{part}_bias": lambda a, part=part: a[f"p/r_{part}_bias"].reshape(1, 8) for part in "wr"}
        changes |= {f"g/r_{part}_bias": lambda a, part=part: a[f"g/r_{part}_bias"].reshape(1, 8) for part in "wr"}
    if name == "mem_len":
        with pytest.raises(ValueError, match=r"seg1/mem0 of .* must have \(3, 2, 8\), got \(4, 2, 8\)"):
            check(alter(plain, tmp_path, **changes))
    else:
        assert check(alter(plain, tmp_path, **changes))["seg2/nll"] > 1e-3


@pytest.mark.parametrize("name", ["surprise", "g/surprise", "seg3/nll", "seg0/mem3", "gx", "seg0/logits"])
def test_unknown_arrays_are_refused(plain, tmp_path, name):
    with pytest.raises(ValueError, match=f"also holds .*{name}"):
        check(alter(plain, tmp_path, **{name: lambda _: np.zeros(8)}))


@pytest.mark.parametrize("name", ["layers.2.dec_attn.r_net.weight", "crit.out_projs.0", "crit.cluster_bias", "x"])
def test_unknown_parameters_are_refused(plain, tmp_path, name):
    with pytest.raises(ValueError, match=f"must hold parameters that the model has, also holds .*{name}"):
        check(alter(plain, tmp_path, **{f"p/{name}": lambda _: np.zeros(8)}))


def test_missing_parameters_are_refused(plain, tmp_path):
    arrays = dict(np.load(plain))
    del arrays["p/layers.1.dec_attn.o_net.weight"]
    np.savez(tmp_path / plain.name, **arrays)
    with pytest.raises(ValueError, match=r"path must hold the parameter layers\.1\.dec_attn\.o_net\.weight"):
        check(tmp_path / plain.name)


def test_parameters_of_another_shape_are_refused(plain, tmp_path):
    path = alter(plain, tmp_path, **{"p/r_w_bias": lambda arrays: arrays["p/r_w_bias"][:1]})
    with pytest.raises(ValueError, match=r"a blocks\.0\.attention\.u of shape \(2, 4\), got \(1, 4\)"):
        check(path)


@pytest.mark.parametrize("name", ["seg0/nll", "seg1/hidden_top", "seg1/mem1", "g/r_w_bias"])
def test_outcomes_of_another_shape_are_refused(plain, tmp_path, name):
    """Not broadcast."""
    path = alter(plain, tmp_path, **{name: lambda arrays: arrays[name][None]})
    with pytest.raises(ValueError, match=rf"{name} of .* must have .*, got \(1, "):
        check(path)
