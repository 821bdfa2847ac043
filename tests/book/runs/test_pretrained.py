"""Weights: written and read back, refused when damaged, and what begins from them."""

import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.data import reads

from rtx_book.runs import pretrained, runs
from rtx_book.runs.builders import build, word_vectors
from rtx_book.runs.fine_tuning import WithAuxiliary
from rtx_book.runs.recipes import RECIPES, pretraining
from rtx_lib.diagnostics.probe import layer_probes
from rtx_lib.models import BERT, GPT
from rtx_lib.tasks import MaskedText, SentenceClasses
from rtx_lib.tasks.corpora import labelled, sentences
from rtx_lib.tasks.vocabulary import SPECIAL, Vocabulary
from rtx_lib.training.evaluation import evaluate, parameter_count

SIZES = {"width": 8, "heads": 2, "layers": 1, "length": 16}
TEXT = {"sources": ["small_world"], "length": 16, "size": 60}


def tiny(name):
    """A recipe of pre-training of ten steps on generated text."""
    recipe, bert = RECIPES[name], name.startswith("bert")
    text = TEXT | ({"share": 0.3, "places": True} if bert else {})
    sizes = SIZES | ({"segments": 1, "start": "word2vec"} if bert else {})
    return replace(recipe, steps=10, batch_size=8, warmup=2, eval_every=5, model_arguments=sizes, task_arguments=text)


FEW = {"source": "small_world", "labels": 8, "length": 16}


def few(name, **arguments):
    """A recipe with few labels, on generated text."""
    recipe = RECIPES[f"few-subj-50-{name}"]
    how = {"model_arguments": recipe.model_arguments | arguments, "task_arguments": recipe.task_arguments | FEW}
    return replace(recipe, **how, probed={name: own | {"source": "small_world"} for name, own in recipe.probed.items()})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Weights of both kinds, made end to end."""
    folder = tmp_path_factory.mktemp("weights")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("bert-small", "gpt-small"):
            patch.setitem(RECIPES, name, tiny(name))
            assert runs.pretrain(name, folder, out=folder, progress=False) == folder / f"{name}.npz"
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of them, which stands for the book's folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(pretrained, "weights_folder", lambda: tmp_path)
    pretrained.vocabulary.cache_clear()
    yield tmp_path
    pretrained.vocabulary.cache_clear()


def test_what_was_trained_is_read_back_and_the_same_seed_gives_the_same_file(folder, monkeypatch):
    first = (folder / "bert-small.npz").read_bytes()
    model, words = pretrained.load("bert-small")
    assert isinstance(model, BERT) and isinstance(pretrained.load("gpt-small")[0], GPT)
    assert words.words[:5] == SPECIAL and len(words) == model.input_size
    assert (folder / "bert-small-s0.json").exists()
    monkeypatch.setitem(RECIPES, "bert-small", tiny("bert-small"))
    runs.pretrain("bert-small", folder, out=folder, progress=False)
    assert (folder / "bert-small.npz").read_bytes() == first
    torch.manual_seed(0)
    fresh, _ = pretrained.load("bert-small", trained=False)
    assert not torch.equal(fresh.encoder.embedding.weight, model.encoder.embedding.weight)
    about = pretrained.read(folder / "bert-small.npz")[2]
    assert about["recipe"] == "bert-small" and "CC BY-SA 4.0" in about["licence"]


def test_damaged_weights_and_one_changed_number_or_word_are_refused(folder):
    path = folder / "bert-small.npz"
    whole, arrays = path.read_bytes(), dict(np.load(path))
    for damaged in (whole[: len(whole) // 2], b"", b"no archive", whole[:2000] + b"\0\1\2\3" + whole[2004:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"bert-small\.npz is damaged"):
            pretrained.load("bert-small")
    for name in ("p.bias", "words", "about"):
        changed = arrays | {name: arrays[name].copy()}
        changed[name][-1] += 1
        np.savez(path, **changed)
        with pytest.raises(ValueError, match="do not have the SHA-256"):
            pretrained.load("bert-small")


def test_parameters_of_another_model_and_a_missing_file_are_named(folder):
    about = {"model": "bert", "arguments": SIZES}
    pretrained.save(folder / "odd.npz", torch.nn.Linear(2, 2), Vocabulary(SPECIAL), about)
    with pytest.raises(ValueError, match=r"odd\.npz does not hold the parameters"):
        pretrained.load("odd", folder)
    with pytest.raises(FileNotFoundError, match="pretrain bert-large"):
        pretrained.load("bert-large", folder)


def test_the_book_s_weights_are_whole_and_know_their_recipe():
    paths = sorted(pretrained.weights_folder().glob("*.npz"))
    assert "bert-small" in [path.stem for path in paths]
    for path in paths:
        recipe = next(recipe for recipe in pretraining.PRETRAINED if recipe.name == path.stem)
        model, words = pretrained.load(recipe.name)
        about = pretrained.read(path)[2]
        assert about["recipe"] == recipe.name and not about["commit"].endswith("-dirty")
        assert about["arguments"] == {k: v for k, v in recipe.model_arguments.items() if k != "start"}
        assert len(words) == recipe.task_arguments["size"] == model.input_size


def test_the_book_s_bert_fills_a_gap_from_both_sides():
    model, words = pretrained.load("bert-small")
    (mask,) = words.require("[MASK]")

    def likely(text):
        x = words.encode(text)[None]
        logits = model.eval()(x)[0][0, int((x[0] == mask).nonzero())]
        return [words.words[i] for i in logits.topk(20).indices.tolist()]

    assert "been" in likely("[CLS] it has [MASK] used in the past . [SEP]")
    assert "be" in likely("[CLS] it will [MASK] used in the past . [SEP]")


@pytest.mark.parametrize("kind", ["bert", "gpt"])
def test_a_classifier_begins_from_the_weights_or_from_scratch(folder, kind):
    trained = pretrained.load(f"{kind}-small")[0]
    for begin in (True, False):
        model, task = build(few(kind, trained=begin), 1)
        inner, table = (model.encoder, trained.encoder) if kind == "bert" else (model.gpt, trained)
        assert torch.equal(inner.embedding.weight, table.embedding.weight) == begin
        assert task.vocabulary == len(pretrained.vocabulary(f"{kind}-small"))
        x, y = task.batch("train", 4, torch.Generator().manual_seed(0))
        assert task.loss(model(x)[0], y).isfinite()


def test_text_without_labels_is_read_before_the_labels(folder):
    (first, own), (second, other) = (build(few("bert", domain_steps=3), seed) for seed in (0, 1))
    began = pretrained.load("bert-small")[0].encoder.embedding.weight
    assert torch.equal(first.encoder.embedding.weight, second.encoder.embedding.weight)
    assert not torch.equal(first.encoder.embedding.weight, began)
    assert not torch.equal(first.readout.weight, second.readout.weight)
    rows = [task.splits.finite("train")[0].tolist() for task in (own, build(few("bert"), 0)[1], other)]
    assert rows[0] == rows[1] != rows[2], "each seed has labels of its own"


@pytest.mark.parametrize("name", ["word2vec", "glove"])
def test_word_vectors_are_of_one_size_and_a_layer_learns_beside_them(folder, name):
    model, task = build(few(name, width=8, passes=1), 0)
    vectors = model.embedding.weight.clone()
    assert vectors[len(SPECIAL) :].mean(0).abs().max() < 1e-5 and 0.5 < vectors.std() < 1.5, "all words are in the text"
    record = runs.trained(few(name), model, task)
    assert torch.equal(model.embedding.weight, vectors) and parameter_count(model) == 9 * task.output_size
    assert 0 < record["elsewhere"]["neighbours"]["share of all"] < 1


def test_of_neighbours_signs_are_none(folder, monkeypatch):
    monkeypatch.setattr(runs, "neighbours", lambda vectors, labels, first: {"words": len(vectors) - first})
    model, task = build(few("word2vec", width=8, passes=1), 0)
    record = runs.trained(few("word2vec"), model, task)
    assert record["elsewhere"]["neighbours"]["words"] == len(task.words) - len(SPECIAL)


@pytest.mark.parametrize("kind", [BERT, GPT])
def test_a_table_may_begin_with_the_vectors_of_skip_gram(kind):
    recipe, table = (tiny("bert-small"), "encoder.embedding") if kind is BERT else (tiny("gpt-small"), "embedding")
    model, task = build(replace(recipe, model_arguments=recipe.model_arguments | {"start": "word2vec"}), 3)
    torch.manual_seed(3)
    plain = kind(task.vocabulary, **{k: v for k, v in recipe.model_arguments.items() if k != "start"})
    weight = plain.get_parameter(f"{table}.weight")
    assert torch.equal(model.get_parameter(f"{table}.weight"), word_vectors(task.rows.ids["train"], *weight.shape))


def test_the_auxiliary_loss_is_added_and_the_metrics_are_those_of_the_classes():
    plain = SentenceClasses("small_world", labels=8, framed=True, size=40)
    task = WithAuxiliary(plain, 0.5)
    x, y = task.batch("train", 3, torch.Generator().manual_seed(0))
    own = plain.batch("train", 3, torch.Generator().manual_seed(0))
    assert torch.equal(x, own[0]) and torch.equal(y[:, 0], own[1]) and torch.equal(y[:, 1:], x)
    logits = torch.randn(*x.shape, task.vocabulary + 4, dtype=torch.double)
    logits[..., task.vocabulary :] = logits[:, -1:, task.vocabulary :]
    nll = -logits[:, :-1, : task.vocabulary].log_softmax(-1).gather(2, x[:, 1:, None])[..., 0]
    words = nll[x[:, 1:] != 0].mean()
    classes = plain.loss(logits[:, -1:, task.vocabulary :], y[:, 0])
    assert torch.isclose(task.loss(logits, y), classes + 0.5 * words, rtol=1e-12)
    assert task.metrics(logits, y) == plain.metrics(logits[..., task.vocabulary :], y[:, 0])

    class Zeros(torch.nn.Module):
        def forward(self, x):
            return torch.zeros(*x.shape, task.vocabulary + 4), None

    assert evaluate(Zeros(), task, "test")["loss"] == pytest.approx(task.baselines()["uniform guess loss"], abs=1e-6)


def test_logits_at_places_are_those_of_all_positions():
    at, everywhere = (MaskedText("small_world", length=16, size=60, places=places) for places in (True, False))
    torch.manual_seed(0)
    model = BERT(len(at.words), **SIZES).double().eval()
    for split in ("train", "valid"):
        (ids, segments, places), y = at.batch(split, 5, torch.Generator().manual_seed(0))
        x, labels = everywhere.batch(split, 5, torch.Generator().manual_seed(0))
        assert torch.equal(ids, x) and not segments.any() and (y >= 0).sum() == (labels >= 0).sum()
        assert torch.equal(labels.gather(1, places), y)
        loss = at.loss(model((ids, segments, places))[0], y)
        assert torch.isclose(loss, everywhere.loss(model(x)[0], labels), rtol=1e-12)
    assert evaluate(model.float(), at, "test") == pytest.approx(evaluate(model, everywhere, "test"), rel=1e-5)


def test_a_probe_reads_all_labels_of_train_and_test_and_no_other_position():
    ids = torch.tensor([[2, 5, 6, 3], [2, 6, 5, 3], [2, 5, 3, 0]])
    labels = torch.where(ids > 4, ids - 5, -100)  # what is at [CLS] and [SEP] does not count
    task = SimpleNamespace(batches=lambda split, size: iter([(ids[:2], labels[:2]), (ids[2:], labels[2:])]))
    shares = layer_probes(lambda x: [F.one_hot(x, 7).float(), torch.zeros(*x.shape, 2)], task)
    assert shares == [1.0, pytest.approx(3 / 5)]


def read_before(sources, labelled_source, without=()):
    """The test sentences, by their letters, that stand in the text that a model was pre-trained on."""

    def letters(words):
        return re.sub("[^a-z]+", " ", " ".join(words).lower()).strip()

    read = {letters(words) for words in sentences(*sources, without=without)}
    return [text for row in labelled(labelled_source)["test"] if (text := letters(row.words)) in read]


def test_test_sentences_in_the_text_are_found():
    assert read_before(["small_world"], "small_world")
    assert not read_before(["small_world"], "small_world", ["small_world"]), "documents leaves them out"


@reads(MaskedText, pretraining.TEXTS, without=pretraining.HELD_OUT)
@reads(SentenceClasses, "sst2")
def test_the_text_of_the_book_s_weights_holds_no_test_sentence():
    assert not read_before(pretraining.TEXTS, "sst2", pretraining.HELD_OUT), "else there is one, of three words"
