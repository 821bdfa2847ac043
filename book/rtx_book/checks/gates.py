"""Checks of the exercises on gates; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from rtx_book.checks.answers import compare, draw, exercise, flat, numeric, of_chapter

Weights = dict[str, Tensor]
solution, ask = of_chapter(__name__)
check_half_life, check_other_order = numeric(__name__)


@exercise("Right: the second quarter of both biases, and their sum is b in every layer.")
def check_forget_bias(answer: Callable[[nn.LSTM, float], object]) -> None:
    """``answer(lstm, b)`` must set the forget gates of a torch.nn.LSTM so that their two biases sum to b."""
    with torch.random.fork_rng(devices=[]):
        lstm = nn.LSTM(2, 3, num_layers=2).double()
    before = {name: value.clone() for name, value in lstm.state_dict().items()}
    answer(lstm, 1.5)
    after = lstm.state_dict()
    for name, value in after.items():
        assert "bias" in name or torch.equal(value, before[name]), f"{name} was changed: only biases have to be"

    def moved(layer: int, gate: int) -> bool:
        names = (f"bias_ih_l{layer}", f"bias_hh_l{layer}")
        return any(not torch.equal(after[n].chunk(4)[gate], before[n].chunk(4)[gate]) for n in names)

    assert any(moved(layer, gate) for layer in (0, 1) for gate in range(4)), "nothing was changed"
    wrong = [name for gate, name in ((0, "input gate i"), (2, "candidate g"), (3, "output gate o")) if moved(0, gate)]
    assert len(wrong) < 3, "all gates were given the bias: only the second quarter of each vector is the forget gate's"
    assert not wrong, f"this changes the {wrong[0]}: torch's order is i, f, g, o, and f the second quarter"
    for layer in (0, 1):
        assert moved(layer, 1), f"layer {layer} was left alone: every layer has a forget gate"
        sums = after[f"bias_ih_l{layer}"].chunk(4)[1] + after[f"bias_hh_l{layer}"].chunk(4)[1]
        assert (sums - 3.0).abs().max() > 1e-9, "both biases were set to b, so that their sum is 2b"
        kept = "one of the two biases kept its random values: their sum counts, and it must be b"
        assert (sums - 1.5).abs().max() < 1e-9, kept


@exercise("Right: z's rows change their sign, in weights and biases.")
def check_convert(answer: Callable[[Weights], Weights]) -> None:
    """``answer(weights)`` must give the GRU's function under the other meaning of z; a dict from name to tensor."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    weights = dict(zip(names, draw(1, (6, 3), (6, 2), (6,), (6,)), strict=True))
    plain = flat(list(weights.values()))

    def changed(block: int, kind: str = "", change: Callable[[Tensor], Tensor] = torch.neg) -> Tensor:
        out = {name: value.clone() for name, value in weights.items()}
        for name in (name for name in names if kind in name):
            out[name].chunk(3)[block].copy_(change(out[name].chunk(3)[block]))
        return flat(list(out.values()))

    given = answer({name: value.clone() for name, value in weights.items()})
    assert isinstance(given, Mapping), f"the function must return a dict, it returned {type(given).__name__}"
    assert set(given) == set(weights), f"the dict must have the names {sorted(weights)}, it has {sorted(given)}"
    taken = changed(1, change=lambda rows: 1 - rows)
    slips = {
        "nothing was changed": plain,
        "the weights were subtracted from 1: the gate must become 1 - z, and 1 - sigmoid(a) = sigmoid(-a)": taken,
        "this negates the reset gate: torch's order is r, z, n, so z is the middle third": changed(0),
        "this negates the candidate: torch's order is r, z, n, so z is the middle third": changed(2),
        "everything was negated: only z's rows change": -plain,
        "the biases were forgotten: they are part of z's pre-activation": changed(1, "weight"),
        "only the input's part was negated: z reads the old state too": changed(1, "_ih"),
        "only the old state's part was negated: z reads the input too": changed(1, "_hh"),
    }
    compare(flat([given[name] for name in names]), changed(1), slips)


@exercise("Right: the linear path stays outside the tanh.")
def check_lgru(answer: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """``answer(a, u, r, l, H)`` must be the L-GRU's candidate: tanh(a + r * u) + l * H, a = W_xh x and u = W_hh h."""
    a, u, r, l, linear = draw(3, (5, 4))[0]  # noqa: E741
    tanh, r, l = torch.tanh, r.sigmoid(), l.sigmoid()  # noqa: E741
    twice = tanh(a + u + l * linear + r * u)
    slips = {
        "the linear path is inside the tanh, where it is no longer linear": tanh(a + r * u + l * linear),
        "the old state enters twice, the linear path inside the tanh: this is the notes' expanded line": twice,
        "the gate l is missing: it says how much of H(x) passes": tanh(a + r * u) + linear,
        "the reset gate belongs to what comes from the old state, not to the input": tanh(r * a + u) + l * linear,
        "the reset gate is missing": tanh(a + u) + l * linear,
        "the linear path is missing: this is the candidate of a GRU": tanh(a + r * u),
        "the tanh is missing": a + r * u + l * linear,
    }
    compare(answer(a, u, r, l, linear), tanh(a + r * u) + l * linear, slips)
