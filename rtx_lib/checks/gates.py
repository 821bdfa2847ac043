"""Checks of the exercises on gates; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import torch
from torch import Tensor, nn

from rtx_lib.checks.answers import compare, compare_number, exercise

_TOLERANCE = 1e-9

Weights: TypeAlias = dict[str, Tensor]


@exercise
def check_half_life(answer: float) -> None:
    """``answer`` must be the forget bias b whose memory halves in 100 steps: sigmoid(b)^100 = 1/2.

    Raises
    ------
    AssertionError
        Naming the slip: the gate's value or its time constant instead of the bias, 1/e instead of a half, a sign.
    """
    gate = 2 ** (-1 / 100)
    bias = math.log(gate / (1 - gate))
    decay = math.exp(-1 / 100)
    slips = {
        "this is the gate's value f; the bias is what the logistic function has to be given to return it": gate,
        "the sign: a positive bias opens the forget gate, which keeps the memory": -bias,
        "after 100 steps 1/e of this memory is left; asked for is a half": math.log(decay / (1 - decay)),
        "this is the number of steps, not the bias": 100.0,
        "this is 1 / (1 - f), the memory's length in steps, not the bias": 1 / (1 - gate),
        "this is ln f; solve f = 1 / (1 + exp(-b)) for b": math.log(gate),
    }
    value = compare_number(answer, slips)
    left = (1 / (1 + math.exp(-min(max(value, -700.0), 700.0)))) ** 100
    assert abs(value - bias) < 0.01, f"with b = {value:.4g} the share left after 100 steps is {left:.3g}, not 1/2"
    print(f"Right: sigmoid({bias:.2f})^100 = 1/2.")


@exercise
def check_gate_order(answer: Callable[[Tensor], Tensor]) -> None:
    """``answer(weight)`` must turn an LSTM's weight (4H, D) in the order i, o, f, g into the order i, f, g, o.

    Raises
    ------
    AssertionError
        Naming the slip: nothing moved, the inverse permutation, two blocks swapped, columns instead of rows.
    """
    weight = torch.arange(8 * 8, dtype=torch.float64).view(8, 8)  # square, so that columns can be mixed up with rows
    i, o, f, g = weight.chunk(4)
    right = torch.cat([i, f, g, o])
    across = weight.chunk(4, dim=1)
    slips = {
        "nothing was moved": weight,
        "this is the way back, from i, f, g, o to i, o, f, g": torch.cat([i, g, o, f]),
        "two blocks were swapped: here three have to move": torch.cat([i, f, o, g]),
        "the candidate g and the output gate o are exchanged: g comes third": torch.cat([i, g, f, o]),
        "the blocks are rows: cut along the first axis": torch.cat([across[0], across[2], across[3], across[1]], dim=1),
    }
    compare(answer(weight.clone()), right, slips)
    print("Right: i stays, and o moves from the second place to the last.")


@exercise
def check_forget_bias(answer: Callable[[nn.LSTM, float], object]) -> None:
    """``answer(lstm, b)`` must set the forget gates of a torch.nn.LSTM so that their two biases sum to b.

    Raises
    ------
    AssertionError
        Naming the slip: both biases set to b, another gate's block, every block, one of the two biases left random,
        only the first layer, weights changed.
    """
    torch_state = torch.random.get_rng_state()
    lstm = nn.LSTM(2, 3, num_layers=2).double()
    torch.random.set_rng_state(torch_state)
    before = {name: value.clone() for name, value in lstm.state_dict().items()}
    answer(lstm, 1.5)
    after = lstm.state_dict()
    for name, value in after.items():
        if name.startswith("weight"):
            assert torch.equal(value, before[name]), f"{name} was changed: only biases have to be"

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
        assert (sums - 3.0).abs().max() > _TOLERANCE, "both biases were set to b, so that their sum is 2b"
        assert (sums - 1.5).abs().max() < _TOLERANCE, (
            "one of the two biases kept its random values: their sum counts, and it must be b"
        )
    print("Right: the second quarter of both biases, and their sum is b in every layer.")


@exercise
def check_convert(answer: Callable[[Weights], Weights]) -> None:
    """``answer(weights)`` must give the GRU's function under the other meaning of z; a dict from name to tensor.

    Raises
    ------
    AssertionError
        Naming the slip: one minus the weights, another block or all blocks negated, biases forgotten, only the
        input's or only the state's weights.
    """
    generator = torch.Generator().manual_seed(1)
    shapes = {"weight_ih_l0": (6, 3), "weight_hh_l0": (6, 2), "bias_ih_l0": (6,), "bias_hh_l0": (6,)}
    weights = {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}

    def changed(block: int, names: str = "", change: Callable[[Tensor], Tensor] = torch.neg) -> Tensor:
        out = []
        for name, value in weights.items():
            parts = list(value.chunk(3))
            if names in name:
                parts[block] = change(parts[block])
            out.append(torch.cat(parts))
        return _flat(out)

    given = answer({name: value.clone() for name, value in weights.items()})
    assert isinstance(given, Mapping), f"the function must return a dict, it returned {type(given).__name__}"
    assert set(given) == set(weights), f"the dict must have the names {sorted(weights)}, it has {sorted(given)}"
    taken = changed(1, change=lambda part: 1 - part)
    slips = {
        "nothing was changed": _flat(list(weights.values())),
        "the weights were subtracted from 1: the gate must become 1 - z, and 1 - sigmoid(a) = sigmoid(-a)": taken,
        "this negates the reset gate: torch's order is r, z, n, so z is the middle third": changed(0),
        "this negates the candidate: torch's order is r, z, n, so z is the middle third": changed(2),
        "everything was negated: only z's rows change": -_flat(list(weights.values())),
        "the biases were forgotten: they are part of z's pre-activation": changed(1, "weight"),
        "only the input's part was negated: z reads the old state too": changed(1, "_ih"),
        "only the old state's part was negated: z reads the input too": changed(1, "_hh"),
    }
    compare(_flat([given[name] for name in weights]), changed(1), slips)
    print("Right: z's rows change their sign, in weights and biases.")


@exercise
def check_lgru(answer: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """``answer(a, u, r, l, H)`` must be the L-GRU's candidate: tanh(a + r * u) + l * H, a = W_xh x and u = W_hh h.

    Raises
    ------
    AssertionError
        Naming the slip: the linear path inside the tanh, its gate missing, the reset on the wrong term, no tanh.
    """
    generator = torch.Generator().manual_seed(3)
    a, u, r, l, linear = torch.randn(5, 4, generator=generator, dtype=torch.float64).unbind()  # noqa: E741
    r, l = torch.sigmoid(r), torch.sigmoid(l)  # noqa: E741
    tanh = torch.tanh
    twice = tanh(a + u + l * linear + r * u)
    slips = {
        "the linear path stands inside the tanh, where it is no longer linear": tanh(a + r * u + l * linear),
        "the old state enters twice, the linear path inside the tanh: this is the notes' expanded line": twice,
        "the gate l is missing: it says how much of H(x) passes": tanh(a + r * u) + linear,
        "the reset gate belongs to what comes from the old state, not to the input": tanh(r * a + u) + l * linear,
        "the reset gate is missing": tanh(a + u) + l * linear,
        "the linear path is missing: this is the candidate of a GRU": tanh(a + r * u),
        "the tanh is missing": a + r * u + l * linear,
    }
    compare(answer(a, u, r, l, linear), tanh(a + r * u) + l * linear, slips)
    print("Right: the linear path stands outside the tanh.")


def _flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([torch.as_tensor(t, dtype=torch.float64).flatten() for t in tensors])
