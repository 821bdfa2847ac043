"""Every mixer by its name stands in a stack, carries its state; recipes name what there is."""

from types import SimpleNamespace

import pytest
import torch
from support.helpers import relative_error

from rtx_book.runs.mixers import MIXERS, mixers
from rtx_book.runs.recipes import RECIPES, hybrids, returns

TASK = SimpleNamespace(input_size=5, output_size=4, vocabulary=5)


@pytest.mark.parametrize("name", MIXERS)
def test_a_stack_of_any_mixer_can_be_fed_in_pieces(name):
    """So it sees nothing later, too: the first piece is read without the second."""
    torch.manual_seed(0)
    model = mixers(TASK, name, width=8, layers=2).double().eval()
    x = torch.randint(5, (2, 9), generator=torch.Generator().manual_seed(1))
    whole, _ = model(x)
    first, state = model(x[:, :4])
    assert relative_error(torch.cat([first, model(x[:, 4:], state)[0]], 1), whole) < 1e-12


def test_options_reach_the_mixer():
    assert mixers(TASK, "qrnn", {"window": 3}, width=8, layers=1).mixers[0].window == 3


def test_each_layer_may_have_its_own_mixer_and_options():
    model = mixers(TASK, ["attention", "qrnn"], [{"positions": "none"}, {"window": 3}], width=8)
    assert [type(mixer).__name__ for mixer in model.mixers] == ["AttentionMixer", "QRNNLayer"]
    assert model.mixers[0].attention.positions is None and model.mixers[1].window == 3
    assert len(mixers(TASK, ["attention", "rnn", "rnn"], width=8).mixers) == 3


@pytest.mark.parametrize("mixer", ["gru", ["rnn", "gru"]])
def test_an_unknown_mixer_is_refused(mixer):
    with pytest.raises(ValueError, match=r"mixer must be one of \[.*'min-gru'.*\], got 'gru'"):
        mixers(TASK, mixer, width=8, layers=2)


@pytest.mark.parametrize("options", [{"window": 3}, [{"window": 3}]])
def test_options_of_several_mixers_are_one_for_each(options):
    with pytest.raises(ValueError, match=r"^options must be 2 dictionaries, .*, got .*window"):
        mixers(TASK, ["qrnn", "rnn"], options, width=8)


def test_what_is_compared_on_a_task_has_one_budget():
    """All but the mixer and the rate is the same, and the convolution of those that are bare."""
    for prefix in ("parity-", "s3-", "mqar-", "hybrid-parity-", "hybrid-recall-"):
        recipes = [r for name, r in RECIPES.items() if name.startswith(prefix) and "convolved" not in name]
        budgets = {(r.steps, r.batch_size, r.schedule, r.warmup, r.clip, r.weight_decay) for r in recipes}
        own = {"mixer", "options", *(["kernel_size"] if prefix == "mqar-" else [])}
        stacks = {str({k: v for k, v in r.model_arguments.items() if k not in own}) for r in recipes}
        assert all(("kernel_size" in r.model_arguments) != r.name.endswith("-bare") for r in recipes if len(own) > 2)
        assert len(recipes) > 3 and len(budgets) == len(stacks) == 1
    assert not {*hybrids.SEEDS} & {*returns.TUNING_SEEDS}
