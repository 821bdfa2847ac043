"""On a device that is not the CPU, models keep to it and never make the CPU wait: tried on a pretended one.

The pretended device computes, so that every result can be compared with the CPU's.
"""

import copy
from functools import partial

import pytest
import torch
from support.data import reads
from support.far_device import FAR, FarDevice, MixedDevices, Waited, assert_equal, run, run_far
from support.small_tasks import SETTINGS
from torch import nn

from rtx_book.runs import runs as experiments
from rtx_lib.diagnostics import attention, context, gradients, receptive_field
from rtx_lib.layers import GRU, RNN, Readout
from rtx_lib.layers.decoding import beam_search, greedy, sample
from rtx_lib.models.bytenet import ByteNet
from rtx_lib.models.captioner import Captioner
from rtx_lib.models.convs2s import ConvS2S
from rtx_lib.models.dtmt import DTMT
from rtx_lib.models.memory_network import MemoryNetwork
from rtx_lib.models.seq2seq import Seq2Seq
from rtx_lib.models.transformer import CausalTransformer
from rtx_lib.training import evaluate, fit
from rtx_lib.training.checkpoints import map_tensors, move

T = 10  # steps of a sequence: every further step does what these do
TASKS = {name: (task, SETTINGS.get(name, {})) for name, task in sorted(experiments.TASKS.items())}


# A task of each form of data; what every task computes of them is in tests/lib/tasks/test_contract.py.
OFTEN = ["adding", "music", "number-words", "scenes", "stories", "text"]


def marks(name):
    task, how = TASKS[name]
    return [reads(task, **how), *([] if name in OFTEN else [pytest.mark.weekly])]


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in TASKS])
def test_training_and_evaluation_of_every_task(name):
    """The whole loop, dropout too; on streams where the task has them."""
    kind, how = TASKS[name]
    task = kind(**how)
    settings = {"steps": 3, "eval_every": 3, "eval_batches": 1, "clip": 1.0, "progress": False}
    settings |= {"batch_size": 4, "eval_batch_size": 4, "stream_length": 5 if hasattr(task, "stream") else None}
    settings["keep_best"] = sorted(task.metrics(*prediction_and_labels(task)))[0]
    histories = []
    for device in ("cpu", FAR):
        torch.manual_seed(0)
        if name == "number-words":
            model = Seq2Seq(task.input_size, task.output_size, width=4, hidden_size=5)
        elif name == "scenes":
            model = Captioner(task.input_size, task.output_size, width=4, hidden_size=5, channels=4)
        elif name == "stories":
            model = MemoryNetwork(task.vocabulary, sentence_length=5, memory_size=10, width=4, linear_steps=1)
        else:
            model = Readout(
                GRU(task.input_size if task.vocabulary is None else 6, 5), task.output_size, vocabulary=task.vocabulary
            )
        with FarDevice():
            histories.append(fit(model, task, device=device, **settings))
    ours, theirs = histories
    assert ours.loss == pytest.approx(theirs.loss, rel=1e-4)
    for one, other in zip(ours.evaluations, theirs.evaluations, strict=True):
        assert one.pop("split") == other.pop("split") and one == pytest.approx(other, rel=1e-4)


def prediction_and_labels(task):
    x, y = task.batch("train", 2, torch.Generator().manual_seed(0))
    return torch.rand(2, (x[1] if isinstance(x, tuple) else x).shape[1], task.output_size), y


def both(compute, model, *tensors):
    """What ``compute(model, *tensors)`` gives on the CPU and on the device, the latter brought back."""
    near = compute(model, *tensors)
    with FarDevice():
        far = compute(copy.deepcopy(model).to(FAR), *move(tensors, FAR))
        far = map_tensors(far, lambda tensor: tensor.detach().cpu())
    return far, map_tensors(near, torch.Tensor.detach)


DECODERS = {
    "greedy": lambda model, source: greedy(model, source, start=1, end=2, max_length=6),
    "beam": lambda model, source: beam_search(model, source, start=1, end=2, max_length=6, beams=3),
}


GATED = {"encoder": [(4, 3)], "decoder": [(4, 3), (4, 2)]}
WRITERS = {
    **{str(a): partial(Seq2Seq, 9, 8, width=4, hidden_size=5, attention=a) for a in (None, "additive", "dot")},
    "bytenet": partial(ByteNet, 9, 8, width=4, dilations=(1, 2)),
    "convs2s": partial(ConvS2S, 9, 8, width=4, **GATED),
    "dtmt": partial(DTMT, 9, 8, width=4, hidden_size=6, heads=2, encoder_depth=1, query_depth=1, decoder_depth=1),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("decoder", DECODERS)
def test_decoding(decoder, writer):
    torch.manual_seed(0)
    model = WRITERS[writer]()
    far, near = both(DECODERS[decoder], model, torch.tensor([[3, 1, 4, 0], [5, 6, 0, 0]]))
    assert_equal(*([each] if isinstance(each, torch.Tensor) else each for each in (far, near)))


@pytest.mark.parametrize("kind", ["gru", "transformer"])
def test_sampling(kind):
    torch.manual_seed(0)
    model = Readout(GRU(6, 5), 7, vocabulary=7) if kind == "gru" else small_transformer()

    def draw(model, prompt):
        return sample(model, prompt, 5, generator=torch.Generator().manual_seed(3))

    far, near = both(draw, model, torch.tensor([[1, 2, 3]]))
    assert torch.equal(far, near)


def small_transformer():
    return CausalTransformer(7, 7, width=8, heads=2, layers=2, vocabulary=7)


def gradient_through_time(model, x):
    with gradients.record_states(model) as states:
        y, _ = model(x)
    jacobians = gradients.step_jacobians(states[0], model.weight_hh_l0)
    loss = y.square().mean()
    return (
        gradients.gradient_norms(loss, states[0]),
        gradients.jacobian_products(jacobians),
        gradients.jacobian_bounds(jacobians),
        gradients.singular_values(model.weight_hh_l0),
        gradients.spectrum(model.weight_hh_l0).abs(),
    )


def attention_weights(model, ids):
    with attention.record_attention(model) as recorded, attention.ablate_heads(model, [1], to="uniform"):
        model(ids)
    return tuple(weights for _, weights in recorded)


def importance(model, ids):
    def score(some):
        return model(some)[0][:, -1, 0]

    left_out = attention.leave_one_out(score, ids[:1], 0, batch=4)
    saliency = attention.gradient_saliency(lambda: score(ids), model.embedding)
    return left_out, saliency, torch.tensor(attention.rank_agreement([left_out[None]], [saliency[:1]])[0])


def contexts(model, ids):
    text = ids.flatten()
    by_position = context.loss_by_position(model, [(ids[:, :5], ids[:, 1:6]), (ids[:, 5:10], ids[:, 6:])])
    return context.context_losses(model, text, [2, 4], torch.arange(4, len(text)), segment=2), by_position


def influence(model, ids):
    exact = receptive_field.input_influence(model, ids, embedding=model.embedding)
    draws = torch.Generator().manual_seed(0)
    return exact, receptive_field.input_influence(model, ids, embedding=model.embedding, samples=3, generator=draws)


DIAGNOSTICS = {
    "gradients": (gradient_through_time, lambda: RNN(2, 4), torch.rand(2, T, 2)),
    "attention": (attention_weights, small_transformer, torch.arange(12).reshape(2, 6) % 7),
    "importance": (importance, small_transformer, torch.arange(12).reshape(2, 6) % 7),
    "context": (contexts, small_transformer, torch.arange(22).reshape(2, 11) % 7),
    "influence": (influence, small_transformer, torch.arange(12).reshape(2, 6) % 7),
}


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_diagnostics(name):
    compute, make, x = DIAGNOSTICS[name]
    torch.manual_seed(0)
    far, near = both(compute, make().eval(), x)
    assert_equal(far, near)


class Planted(nn.Module):
    """A linear map and one mistake, which a CPU forgives."""

    def __init__(self, mistake):
        super().__init__()
        self.linear, self.mistake = nn.Linear(2, 2), mistake

    def forward(self, x, state=None):
        return self.mistake(self, self.linear(x)), state


MIXED = {
    "a mask made on the CPU": lambda self, y: y.masked_fill(torch.ones(T, 1, dtype=torch.bool).triu(), 0),
    "a generator of the CPU": lambda self, y: y + torch.rand(y.shape, generator=torch.Generator(), device=y.device),
    "ids looked up in a table on the CPU": lambda self, y: y + torch.zeros(5)[y.argmax(-1)][..., None],
}
WAITING = {"item": lambda self, y: y * y.max().item(), "a copy to the CPU": lambda self, y: y + y.cpu().sum()}


@pytest.mark.parametrize("name", [*MIXED, *WAITING])
def test_a_planted_mistake_is_seen(name):
    error, mistake = (MixedDevices, MIXED[name]) if name in MIXED else (Waited, WAITING[name])
    model, x = Planted(mistake), torch.rand(2, T, 2)
    run(model, x)  # on the CPU nobody minds
    with pytest.raises(error):
        run_far(model, x)


def test_an_array_is_not_made_of_what_is_far():
    with FarDevice(), pytest.raises(TypeError, match="numpy"):
        torch.rand(3, device=FAR).numpy()


def test_an_evaluation_on_another_device_than_the_models_is_seen():
    task = experiments.TASKS["adding"](length=6)
    with FarDevice(), pytest.raises(ValueError, match="x must be on meta"):
        evaluate(Readout(GRU(2, 5), 1).to(FAR), task, batches=1)
