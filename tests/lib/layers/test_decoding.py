"""Greedy decoding is repeated argmax, wide beams find the best sentence, and samples follow the probabilities."""

import math
from dataclasses import dataclass, is_dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import pytest
import torch
from support.helpers import refusals, relative_error
from torch import nn
from torch.utils._pytree import tree_leaves

from rtx_lib.layers import GRU, Readout, beam_search, greedy, sample
from rtx_lib.models.bytenet import ByteNet
from rtx_lib.models.convs2s import ConvS2S
from rtx_lib.models.dtmt import DTMT
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.models.seq2seq import Seq2Seq
from rtx_lib.models.transformer import Transformer

pytestmark = pytest.mark.usefixtures("double")

START, END = 1, 2
SOURCE = torch.tensor([[3, 1, 4, 1, 5], [2, 6, 0, 0, 0], [5, 3, 5, 8, 0], [7, 0, 0, 0, 0]])
MODELS = ["fixed", "additive", "dot", "transformer", "bytenet", "convs2s", "dtmt"]


def make(kind, seed=0, vocabulary=5, sharpness=2.0):
    """A model with random weights: all different, as sharp as wished."""
    torch.manual_seed(seed)
    if kind == "transformer":
        model = Transformer(9, vocabulary, width=8, heads=2, layers=2).eval()
    elif kind == "bytenet":
        model = ByteNet(9, vocabulary, width=6, dilations=(1, 2))
    elif kind == "convs2s":
        model = ConvS2S(9, vocabulary, width=6, encoder=[(6, 3)], decoder=[(6, 2), (6, 3)])
    elif kind == "dtmt":
        model = DTMT(9, vocabulary, width=6, hidden_size=8, heads=2, encoder_depth=1, query_depth=1, decoder_depth=1)
    else:
        attention = None if kind == "fixed" else kind
        model = Seq2Seq(9, vocabulary, width=6, hidden_size=8, attention=attention)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(sharpness)
    return model


def forgetful(model):
    """The same model without a state: it has to read everything again at every step."""
    return lambda x, state=None: (model(x)[0], None)


def log_probabilities(model, source, sentences):
    """log p of sentences (without start, padded with 0 after the end) from one pass with the true symbols as input."""
    target_in = torch.cat([torch.full((len(sentences), 1), START), sentences[:, :-1]], dim=1)
    with torch.no_grad():
        each = model((source, target_in))[0].log_softmax(-1).gather(2, sentences.unsqueeze(-1)).squeeze(-1)
    ended = (sentences == END).cumsum(1) - (sentences == END).long()  # 0 up to and with the first end
    return each.masked_fill(ended > 0, 0).sum(1)


def all_sentences(vocabulary, max_length):
    """Every complete sentence: those that end within max_length, and those cut there."""
    rest = [symbol for symbol in range(vocabulary) if symbol != END]
    ended = [(*body, END) for n in range(max_length) for body in product(rest, repeat=n)]
    rows = ended + list(product(rest, repeat=max_length))
    return torch.tensor([[*row, *[0] * (max_length - len(row))] for row in rows]), torch.tensor([len(r) for r in rows])


def pad_to(ids, size):
    return nn.functional.pad(ids, (0, size - ids.shape[1]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", MODELS)
def test_greedy_is_repeated_argmax(kind, seed):
    model = make(kind, seed)
    ours = greedy(model, SOURCE, start=START, end=END, max_length=9)
    for row, sentence in enumerate(SOURCE):
        written = [START]
        while written[-1] != END and len(written) < 10:
            logits, _ = model((sentence[sentence > 0].unsqueeze(0), torch.tensor([written])))
            written.append(int(logits[0, -1].argmax()))
        assert ours[row].tolist() == pad_to(torch.tensor([written[1:]]), ours.shape[1])[0].tolist()
    assert ours.shape[1] == max(9 if END not in row else row.index(END) + 1 for row in ours.tolist())


def test_equal_logits_are_taken_in_the_order_of_ids():
    model = make("additive")
    with torch.no_grad():
        model.readout.weight.zero_()
        model.readout.bias.copy_(torch.tensor([0.0, 0, 0, 1, 1]))
    ids = greedy(model, SOURCE, start=START, end=END, max_length=3)
    assert ids.eq(3).all()
    assert beam_search(model, SOURCE, start=START, end=END, max_length=3, beams=1)[0].equal(ids)
    language = language_model("gru")
    nn.init.zeros_(language.linear.weight)
    nn.init.zeros_(language.linear.bias)
    assert sample(language, PROMPT, 3, top=1, generator=torch.Generator().manual_seed(0))[:, 2:].eq(0).all()


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("kind", MODELS)
def test_enough_beams_find_the_best_sentence(kind, penalty):
    sentences, lengths = all_sentences(4, 4)
    for seed in range(3):
        model = make(kind, seed, vocabulary=4, sharpness=1.5)
        found, log_p = beam_search(
            model, SOURCE, start=START, end=END, max_length=4, beams=4**3, length_penalty=penalty
        )
        for row, source in enumerate(SOURCE):
            each = log_probabilities(model, source.expand(len(sentences), -1), sentences)
            assert torch.isclose(each.exp().sum(), torch.tensor(1.0))  # these are all sentences there are
            best = int((each / lengths**penalty).argmax())
            assert pad_to(found, 4)[row].equal(sentences[best])
            assert abs(log_p[row] - each[best]) < 1e-12


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("kind", MODELS)
def test_a_batch_is_decoded_as_its_sentences_one_by_one(kind, penalty):
    model = make(kind, 2, sharpness=1.5)
    arguments = {"start": START, "end": END, "max_length": 8}
    written = greedy(model, SOURCE, **arguments)
    found, log_p = beam_search(model, SOURCE, **arguments, beams=3, length_penalty=penalty)
    for row, sentence in enumerate(SOURCE):
        alone = sentence[sentence > 0].unsqueeze(0)
        assert pad_to(greedy(model, alone, **arguments), written.shape[1])[0].equal(written[row])
        ids, one = beam_search(model, alone, **arguments, beams=3, length_penalty=penalty)
        assert pad_to(ids, found.shape[1])[0].equal(found[row])
        assert relative_error(one, log_p[row : row + 1]) < 1e-12


def test_one_beam_is_greedy_in_half_precision():
    """In which sums over many steps would soon be equal for all extensions of a beginning."""
    source, arguments = torch.arange(1, 8).repeat(5, 1).T.contiguous(), {"start": START, "end": END, "max_length": 30}
    model = make("fixed", vocabulary=50, sharpness=0.5).bfloat16()
    ids, log_p = beam_search(model, source, **arguments, beams=1)
    assert ids.equal(greedy(model, source, **arguments)) and log_p.dtype == torch.float32


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_without_state_is_read_again(kind):
    model, arguments = make(kind), {"start": START, "end": END, "max_length": 6}
    assert greedy(forgetful(model), SOURCE, **arguments).equal(greedy(model, SOURCE, **arguments))
    ours, theirs = (beam_search(m, SOURCE, **arguments, beams=3) for m in (forgetful(model), model))
    assert ours[0].equal(theirs[0]) and relative_error(ours[1], theirs[1]) < 1e-12


def language_model(kind, seed=0):
    generator = torch.Generator().manual_seed(seed)
    model = PlainGPT(7, width=8, heads=2, layers=1, length=12) if kind == "gpt" else None
    model = model or Readout(GRU(4, 6, 2), 7, vocabulary=7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.8, generator=generator)
    return model


PROMPT = torch.tensor([[1, 4], [0, 0], [6, 2]])


@pytest.mark.parametrize("kind", ["gru", "gpt"])
def test_sample_continues_the_prompt_the_same_for_the_same_generator(kind):
    model = language_model(kind)
    one, two, other = (sample(model, PROMPT, 9, generator=torch.Generator().manual_seed(s)) for s in (0, 0, 1))
    assert one.shape == (3, 11) and one[:, :2].equal(PROMPT)
    assert one.equal(two) and not one.equal(other)


@pytest.mark.parametrize("arguments", [{"temperature": 1e-3}, {"temperature": 5e-324}, {"top": 1}], ids=str)
@pytest.mark.parametrize("kind", ["gru", "gpt"])
def test_sample_towards_greedy(kind, arguments):
    model, expected = language_model(kind), PROMPT
    for _ in range(10):
        expected = torch.cat([expected, model(expected)[0][:, -1:].argmax(-1)], dim=1)
    for precision in (torch.float64, torch.float32):
        got = sample(model.to(precision), PROMPT, 10, **arguments, generator=torch.Generator().manual_seed(0))
        assert got.equal(expected)


@pytest.mark.parametrize(
    "arguments, power, kept",
    [
        *[({}, 1, 4), ({"temperature": 0.5}, 2, 4), ({"top": 2}, 1, 2), ({"top": 9}, 1, 4)],
        *[({"top_p": 0.6}, 1, 2), ({"top_p": 0.3}, 1, 1), ({"top_p": 0.99, "top": 3}, 1, 3), ({"top_p": 1.0}, 1, 4)],
    ],
    ids=str,
)
def test_sample_follows_the_probabilities(arguments, power, kept):
    p = torch.tensor([0.1, 0.4, 0.2, 0.3])
    prompt = torch.zeros(20_000, 1, dtype=torch.int64)
    how = {**arguments, "generator": torch.Generator().manual_seed(0)}
    ids = sample(lambda ids, state: (p.log().expand(*ids.shape, 4), None), prompt, 1, **how)
    expected = p**power * torch.tensor([rank < kept for rank in (3, 0, 2, 1)])
    expected = expected / expected.sum()
    shares = ids[:, 1].bincount(minlength=4) / 20_000
    assert (shares - expected).abs().max() < 4 * (0.25 / 20_000) ** 0.5
    assert shares[expected == 0].sum() == 0


def test_decoding_leaves_no_graph_and_no_change():
    model = make("additive").train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    _, log_p = beam_search(model, SOURCE, start=START, end=END, max_length=3)
    assert not log_p.requires_grad and model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


HOW = {"source": SOURCE, "start": START, "end": END, "max_length": 3}
BAD = {
    "max_length must be at least 1, got 0": {"max_length": 0},
    "start must be at least 0, got -1": {"start": -1},
    "end must be at least 0 and below 5, got 5": {"end": 5},
    "end must be a whole number of at least 0, got True": {"end": True},
}
test_bad_arguments = refusals(
    ((partial(decode, **HOW | BAD[message]), message) for decode in (greedy, beam_search) for message in BAD),
    lambda: make("additive"),
)


@pytest.mark.parametrize("penalty", [-0.5, float("nan"), 1000])
def test_bad_penalties(penalty):
    with pytest.raises(ValueError, match="length_penalty must be at least 0 and at most 72, got"):
        beam_search(make("additive"), **HOW, length_penalty=penalty)


class Kept(NamedTuple):
    part: torch.Tensor


@dataclass(frozen=True)
class Frozen:
    part: torch.Tensor


@pytest.mark.parametrize("keep", [Kept, Frozen, lambda s: {"part": s}, lambda s: [None, Kept(s)]])
def test_states_of_any_form(keep):
    """What a model keeps comes back in the form in which it gave it, with the rows of the beginnings that go on."""
    model, form = make("fixed"), type(keep(torch.zeros(1)))

    def kept(x, state=None):
        assert state is None or type(state) is form
        parts = None if state is None else tree_leaves(state, is_leaf=is_dataclass)[-1]
        logits, state = model(x, None if state is None else getattr(parts, "part", parts).split([8, 16], -1))
        return logits, keep(torch.cat(state, -1))

    plain, _ = model((SOURCE, SOURCE * 0 + START))
    for decode in (greedy, beam_search):
        ours, theirs = (decode(m, SOURCE, start=START, end=END, max_length=5) for m in (kept, model))
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)) and plain.isfinite().all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_model_that_has_diverged_is_named_with_step_and_row(bad):
    def logits_of(ids):
        logits = torch.zeros(*ids.shape, 5).index_fill_(-1, torch.tensor(END), -math.inf)  # which is forbidden
        places = slice(None) if bad < 0 else 3
        logits[-1, :, places] = bad if ids.shape[1] == 3 else 0
        return logits

    said = rf"logits must be finite, or -inf .* got a largest one of {bad} in row 3 at step 2"
    for decode in (greedy, beam_search):
        with pytest.raises(ValueError, match=said):
            decode(lambda x, _: (logits_of(x[1]), None), SOURCE, start=START, end=END, max_length=4)
    with pytest.raises(ValueError, match=said.replace("step 2", "step 1")):
        sample(lambda x, _: (logits_of(x), None), SOURCE[:, :2], 3, generator=torch.Generator())
    assert (sample(lambda x, _: (logits_of(x), None), SOURCE, 3, generator=torch.Generator())[:, 5:] != END).all()


def test_a_state_without_the_batch_in_front_is_named():
    language = language_model("gru")  # its state is (layers, B, H)
    with pytest.raises(ValueError, match=r"first axis is the batch of 4, got \(2, 4, 6\)"):
        beam_search(lambda x, state: language(x[1], state), SOURCE, start=START, end=END, max_length=3)


NEXT = {"steps": 2, "generator": torch.Generator()}
test_bad_samples = refusals(
    {
        "temperature must be above 0 and finite, got 0.0": lambda model: sample(model, PROMPT, temperature=0.0, **NEXT),
        "top must be at least 1": lambda model: sample(model, PROMPT, top=0, **NEXT),
        "prompt must hold ids from 0 on, got -6": lambda model: sample(model, -PROMPT, **NEXT),
    },
    lambda: language_model("gru"),
)
