"""Speculative decoding writes what the large model alone would, in distribution, and calls it less."""

import itertools
import math

import pytest
import torch
from support.helpers import drawn, refusals

from rtx_lib.layers import GRU, Readout, sample, speculate, speculative
from rtx_lib.models.gpt import GPT
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.models.transformer_xl import TransformerXL

pytestmark = pytest.mark.usefixtures("double")

SIZE = {"width": 4, "heads": 2, "layers": 1}
MODELS = {  # a cache that is cut, two states that are kept, one, and none
    "gpt": lambda v: GPT(v, **SIZE, length=9, key_heads=1),
    "gru": lambda v: Readout(GRU(v, 4, 2), v),
    "xl": lambda v: TransformerXL(v, v, **SIZE, vocabulary=v, memory=9),
    "plain-gpt": lambda v: PlainGPT(v, **SIZE, length=9),
}


def make(name, vocabulary, seed, sharpness=4.0):
    model = drawn(seed, MODELS[name], vocabulary).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(sharpness / 4 * torch.randn_like(parameter))
    return model


def every_path(write, monkeypatch):
    """What ``write()`` returns on each path of its draws, with the path's probability."""
    paths = [[]]
    while paths:
        path, chances = paths.pop(), []

        def draw(weights, generator, path=path, chances=chances):
            p, step = weights / weights.sum(), len(chances)
            if step == len(path):
                first, *others = p.nonzero()[:, 0].tolist()
                paths.extend([*path, other] for other in others)
                path.append(first)
            chances.append(float(p[path[step]]))
            return path[step]

        monkeypatch.setattr(speculative, "_draw", draw)
        yield write(), math.prod(chances)


@torch.no_grad()
def alone(model, prompt, steps, vocabulary, temperature):
    """The probability of every continuation by the model, read as a whole."""
    found = {}
    for text in itertools.product(range(vocabulary), repeat=steps):
        ids = torch.tensor([[*prompt, *text]])
        log_p = (model(ids)[0][0, len(prompt) - 1 : -1] / temperature).log_softmax(-1)
        found[text] = math.exp(log_p.gather(1, ids[0, len(prompt) :, None]).sum())
    return found


def written(model, draft, prompt, steps, monkeypatch, **options):
    found = {}
    run = lambda: speculate(model, draft, torch.tensor([prompt]), steps, **options, generator=None)  # noqa: E731
    for (ids, _), weight in every_path(run, monkeypatch):
        text = tuple(ids[0, len(prompt) :].tolist())
        found[text] = found.get(text, 0) + weight
    return found


def variation(one, other):
    return sum(abs(one.get(text, 0) - other.get(text, 0)) for text in {*one, *other}) / 2


CASES = [("gpt", "gru", [1], 3, 3, 2), ("gru", "gpt", [0, 2], 3, 3, 2), ("xl", "plain-gpt", [1, 0], 2, 4, 2)]
CASES += [("plain-gpt", "xl", [1], 2, 3, 2), ("gpt", "gpt", [0, 1, 1], 2, 4, 2)]


@pytest.mark.parametrize(("name", "other", "prompt", "vocabulary", "steps", "guesses"), CASES)
def test_all_paths_together_are_the_large_models_distribution(
    name, other, prompt, vocabulary, steps, guesses, monkeypatch
):
    model, draft = make(name, vocabulary, 1), make(other, vocabulary, 2)
    options = {"guesses": guesses, "temperature": 0.8}
    wanted = alone(model, prompt, steps, vocabulary, 0.8)
    assert variation(written(model, draft, prompt, steps, monkeypatch, **options), wanted) < 1e-12
    assert variation(alone(draft, prompt, steps, vocabulary, 0.8), wanted) > 0.1, "the draft is another model"


def test_to_draw_again_from_all_of_p_is_seen(monkeypatch):
    """The likely slip: a place whose guess is refused is drawn from p and not from what p has over q."""
    model, draft = make("gpt", 2, 1), make("gru", 2, 2)
    clamp = torch.Tensor.clamp
    monkeypatch.setattr(torch.Tensor, "clamp", lambda x, **ends: x.abs() if "min" in ends else clamp(x, **ends))
    assert variation(written(model, draft, [1], 3, monkeypatch, guesses=2), alone(model, [1], 3, 2, 1)) > 0.01


def test_samples_follow_the_large_model():
    """The empirical distribution is as near as sqrt(k / N) / 2 in the mean, and t further once in e^(2 N t^2) times."""
    large, small = (4 * torch.randn(2, 2, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
    model, draft = (lambda ids, state=None, table=table: (table[ids], None) for table in (large, small))
    generator, found, count = torch.Generator().manual_seed(0), {}, 800
    for _ in range(count):
        ids, _ = speculate(model, draft, torch.tensor([[1]]), 3, guesses=2, generator=generator)
        text = tuple(ids[0, 1:].tolist())
        found[text] = found.get(text, 0) + 1 / count
    bound = math.sqrt(2**3 / count) / 2 + math.sqrt(math.log(1e6) / (2 * count))
    wanted, other = (alone(one, [1], 3, 2, 1) for one in (model, draft))
    assert variation(found, wanted) < bound < variation(other, wanted)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_guesses_for_itself_keeps_all_guesses_and_is_called_once_a_round(name):
    model, calls = make(name, 5, 1), []
    count = lambda ids, state: calls.append(ids.shape[1]) or model(ids, state)  # noqa: E731
    ids, rounds = speculate(
        count, model, torch.tensor([[1, 2]]), 7, guesses=3, generator=torch.Generator().manual_seed(1)
    )
    assert rounds.tolist() == [[3, 3], [2, 2]] and ids.shape == (1, 9)
    assert calls == ([1, 5, 8] if name == "plain-gpt" else [1, 4, 3])


@pytest.mark.parametrize(("name", "calls"), [("gpt", [1, 4, 4, 4, 4, 3, 2, 1]), ("gru", [1, 4, 1, 4, 1, 4, 1])])
def test_of_a_bad_draft_nothing_is_kept_and_a_cache_is_cut_where_another_state_is_made_again(name, calls):
    model, seen = make(name, 5, 1), []
    greedy = sample(model, torch.tensor([[1, 2]]), 7, temperature=1e-9, generator=torch.Generator())
    wrong = lambda ids, state: (-model(ids)[0], None)  # noqa: E731
    count = lambda ids, state: seen.append(ids.shape[1]) or model(ids, state)  # noqa: E731
    options = {"guesses": 3, "temperature": 1e-9, "generator": torch.Generator()}
    ids, rounds = speculate(count, wrong, torch.tensor([[1, 2]]), 7, **options)
    assert torch.equal(ids, greedy) and rounds.tolist() == [[n, 0] for n in (3, 3, 3, 3, 2, 1, 0)]
    assert seen[: len(calls)] == calls


test_bad_arguments = refusals(
    {
        "prompt must have one row, got 2": lambda: run(torch.ones(2, 1, dtype=torch.long)),
        "prompt must hold ids": lambda: run(torch.ones(1, 0, dtype=torch.long)),
        "guesses must be at least 1, got 0": lambda: run(guesses=0),
        "temperature must be above 0 and finite, got 0": lambda: run(temperature=0),
    }
)


def run(prompt=None, **options):
    prompt = torch.tensor([[1]]) if prompt is None else prompt
    return speculate(None, None, prompt, 3, **options, generator=torch.Generator())
