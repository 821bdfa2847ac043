"""Our modules give the numbers of the original implementations; what a file says is compared, or refused."""

import re
import shutil

import numpy as np
import official
import pytest
from official import FAMILIES, check
from reference.official_txl import txl
from support.helpers import FIXTURES

# What the files say whose outcomes are few.
FEW_OUTCOMES = {
    "bert_visibility": {"out_full", "out_ltr", "out_rtl"},
    "xlnet_local_perm": {"index", "perm_mask", "targets", "target_mask"},
    "optim_rules": {"bert", "gpt", "torch_adamw", "bert_schedule", "gpt_finetune_schedule", "gpt_pretrain_cosine"},
    "word2vec_sgns": {"loss", "loss_per_pair", "g/W_in", "g/W_out", "seq_W_in", "seq_W_out", "cbow_loss_per_item"}
    | {"cbow_g/W_in", "cbow_g/W_out", "cbow_g/W_in_ccode", "noise", "cum_table", "keep_paper", "keep_code"},
    "txl_relshift": {"y"},
    "transformer_annotated": {"memory", "decoded", "logp", "pe"},
    "transformer_torch_post": {"out", "gx"},
    "transformer_torch_pre": {"out", "gx"},
    "rtransformer_image": {"logp"},
    "minrnn_extra": {"g_v", "log_g_v", "dg_v", "out_minlstm_unnormalised", "gf", "gi", "gh"},
    "memn2n": {"attention", "probabilities", "position_encoding", "loss", "g/tables"},
    "memn2n_linear_start": {"attention", "probabilities", "position_encoding", "loss", "g/tables"},
    "memn2n_bow": {"attention", "probabilities", "loss", "g/tables"},
}
SOME_OUTCOME = {"out", "out_eps0", "train_out", "seg0/nll", "logits", "layer2", "loss", "L3"}
QUIRK = FIXTURES / "txl_extlen_officialquirk.npz"


def copied(tmp_path, stem):
    """A copy of a committed file, and the names of its outcomes."""
    path = shutil.copyfile(FIXTURES / f"{stem}.npz", tmp_path / f"{stem}.npz")
    return path, set(check(path))


def alter(path, changes):
    """The file with some arrays changed by functions of all arrays, or put in their place."""
    arrays = dict(np.load(path))
    new = {name: change(arrays) if callable(change) else np.array(change) for name, change in changes.items()}
    np.savez(path, **arrays | new)
    return path


def test_committed_fixtures():
    """All but the one with a fault of the authors' code, which is below."""
    files = sorted(set(FIXTURES.glob("*.npz")) - {QUIRK})
    assert len(files) == 100, "one is missing, or a new one is not counted here"
    assert {next(name for name in FAMILIES if path.stem.startswith(name)) for path in files} == set(FAMILIES)
    for path in files:
        errors = check(path)
        few = FEW_OUTCOMES.get(path.stem)
        if path.stem == "elmo_official_tiny":  # made in single precision
            assert len(errors) == 30 and all(error < 1e-6 for error in errors.values())
            continue
        assert set(errors) == few if few else len(errors) >= 5 and SOME_OUTCOME & set(errors)
        assert all(error < 1e-9 for error in errors.values()), errors


# ---- what a file says is compared, or refused: the code that does it is one for all families

examples = pytest.mark.parametrize("stem", ["cell_gru", "elmo_bilm_skip", "txl_base"])


@examples
def test_a_wrong_number_is_seen(tmp_path, stem):
    """In its own outcome: each is wrong by another amount."""
    path, names = copied(tmp_path, stem)
    amounts = {name: k / 1000 for k, name in enumerate(sorted(names), start=1)}

    def change(name):
        def changed(arrays):
            value = arrays[name].copy()
            value.flat[-1] += amounts[name]
            return value

        return changed

    errors = check(alter(path, {name: change(name) for name in names}))
    assert errors == {name: pytest.approx(amount, rel=1e-6) for name, amount in amounts.items()}


UNKNOWN = {
    "cell_gru": ["cn"],
    "elmo_bilm_skip": ["layer4", "g/embed", "mix_g", "forward0"],
    "txl_base": ["seg3/nll", "seg0/mem3", "gx", "seg0/logits"],
}


@examples
def test_arrays_that_we_do_not_compute_are_refused(tmp_path, stem):
    path, _ = copied(tmp_path, stem)
    arrays = dict(np.load(path))
    for name in ["surprise", "g/surprise", *UNKNOWN[stem]]:
        np.savez(path, **arrays, **{name: np.zeros(8)})
        with pytest.raises(ValueError, match=f"also holds .*{name}"):
            check(path)
    with pytest.raises(ValueError, match="families"):
        check(tmp_path / "cell_unknown.npz")


@examples
def test_outcomes_of_another_shape_are_refused(tmp_path, stem):
    """Not broadcast: here every row of the file's would be the right one."""
    path, names = copied(tmp_path, stem)
    arrays = dict(np.load(path))
    for name in sorted(names)[:: len(names) // 3]:
        np.savez(path, **arrays | {name: arrays[name][None]})
        with pytest.raises(ValueError, match=rf"{re.escape(name)} of .* must have \(.*, got \(1,"):
            check(path)


@pytest.mark.parametrize("stem", ["cell_rnn", "cell_lstm", "cell_gru", "indrnn_recurrent"])
def test_a_file_without_gradients_or_first_state(tmp_path, stem):
    """Only what stands in the file is reported; ``h`` is every state."""
    path, _ = copied(tmp_path, stem)
    arrays = {name: value for name, value in np.load(path).items() if not name.startswith("g")}
    np.savez(path, **arrays, h=arrays["out"])
    errors = check(path)
    assert {"out", "h"} <= set(errors) <= {"out", "h", "hn", "cn", "out_h0none"}
    assert all(error < 1e-9 for error in errors.values())
    none = {name: value for name, value in arrays.items() if name not in ("h0", "c0")}
    np.savez(path, **none)
    assert check(path)["out"] > 1e-4


@pytest.mark.parametrize("backend", ["auto", "loop", "scan"])
def test_a_backend_that_is_wrong_is_seen(tmp_path, monkeypatch, backend):
    """The worst of the backends is reported, and NaN is worse than any number."""
    path, _ = copied(tmp_path, "indrnn_recurrent")
    right, asked = official.relu_recurrence, backend

    def wrong(z, u, h0=None, *, backend):
        h = right(z, u, h0, backend=backend)
        return h * float("nan") if backend == asked and h0 is None else h + (backend == asked)

    monkeypatch.setattr(official, "relu_recurrence", wrong)
    errors = check(path)
    assert errors["out"] == pytest.approx(1) and np.isnan(errors["out_h0none"]) and errors["gx"] < 1e-9


# ---- what is peculiar to the originals


def test_dead_parameters_are_ignored(tmp_path):
    """Whether the file calls them dead or lists them among the others; what is used cannot be called dead."""
    for stem, at in (("rtransformer_gru_k3", "dead/"), ("rtransformer_image", "p/rt.")):
        path, _ = copied(tmp_path, stem)
        names = ("norm.a_2", "feed_forward.w_1.weight", "forward_net.1.layers.0.local_rnn.output.0.weight")
        assert {f"{at}{name}" for name in names} <= set(np.load(path).files)
        changes = {f"{at}{name}": lambda arrays, name=f"{at}{name}": arrays[name] + 1 for name in names}
        assert max(check(alter(path, changes)).values()) < 1e-9
    path, _ = copied(tmp_path, "rtransformer_gru_k3")
    assert max(check(alter(path, {f"p/{name}": np.ones(8) for name in names})).values()) < 1e-9
    arrays = dict(np.load(path))
    for name in ("forward_net.0.feed_forward.w_1.weight", "forward_net.0.connections.0.norm.a_2", "surprise"):
        np.savez(path, **arrays, **{f"dead/{name}": np.zeros(8)})
        with pytest.raises(ValueError, match=rf"dead only what .* never uses, got dead/{name}"):
            check(path)


def of_transformer_xl(without):
    """The arrays of a committed file, but for outcomes and parameters whose names begin so."""
    arrays = np.load(FIXTURES / "txl_base.npz").items()
    return {name: value for name, value in arrays if not re.match(without, name)}


def test_one_table_is_cut_into_clusters(tmp_path):
    """With div_val = 1 the authors have one for all clusters: what is embedded and computed is what it was without."""
    clusters = {"p/crit.cluster_weight": np.ones((2, 12)), "p/crit.cluster_bias": np.ones(2)}
    clusters |= {"cutoffs": np.array([3, 7])}
    np.savez(path := tmp_path / "txl_one_table.npz", **of_transformer_xl(r"g/|seg\d/nll") | clusters)
    errors = check(path)
    assert len(errors) == 12 and all(error < 1e-9 for error in errors.values())


def test_tokens_that_come_again_are_not_yet_memory(tmp_path):
    """Of one layer, whose memory is the embedded text: six kept, and two that come again, are eight kept."""
    arrays = of_transformer_xl(r"g/|p/layers\.1|seg\d/(nll|hidden|mem)") | {
        "n_layer": np.array(1),
        "mem_len": np.array(8),
    }
    eight = txl({name: official._tensor(value) for name, value in arrays.items()})
    for s in range(3):
        arrays[f"seg{s}/inp"] = arrays["data"][max(0, 5 * s - 2) : 5 * s + 5]
        arrays[f"seg{s}/nll"] = eight[f"seg{s}/nll"].detach().numpy()
    np.savez(path := tmp_path / "txl_again.npz", **arrays | {"mem_len": np.array(6), "ext_len": np.array(2)})
    errors = check(path)
    assert len(errors) == 3 and all(error < 1e-12 for error in errors.values())


def test_the_authors_fault_is_seen():
    """Their code keeps rows that it is about to compute again, as two arguments change places.

    Of the first segment all but the memory is right; what later segments read is not what it should be.
    """
    errors = check(QUIRK)
    first = {name: error for name, error in errors.items() if name.startswith("seg0/")}
    memories = [first.pop(name) for name in list(first) if "mem" in name]
    assert len(first) == 2 and max(first.values()) < 1e-9 and min(memories) > 1e-3
    assert max(error for name, error in errors.items() if name.endswith("nll")) > 1e-3
