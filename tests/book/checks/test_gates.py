"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter
from torch import nn

from rtx_book.checks import gates as checks

tanh, cat = torch.tanh, torch.cat


def set_bias(quarter=1, layers=(0, 1), ih=lambda b: b, hh=lambda b: 0.0):
    """An answer: the forget bias put into one quarter (all if None) by the rules ih and hh (None: left random)."""

    @torch.no_grad()
    def answer(lstm, b):
        for layer in layers:
            for kind, rule in (("ih", ih), ("hh", hh)):
                bias = getattr(lstm, f"bias_{kind}_l{layer}")
                if rule is not None:
                    (bias if quarter is None else bias.chunk(4)[quarter]).fill_(rule(b))

    return answer


def change(block, names="", how=torch.neg):
    def answer(weights):
        out = {}
        for name, value in weights.items():
            parts = list(value.chunk(3))
            if names in name:
                parts[block] = how(parts[block])
            out[name] = cat(parts)
        return out

    return answer


def test_the_forget_bias_check_leaves_the_global_generator_alone():
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    checks.check_forget_bias(set_bias())
    assert torch.equal(torch.rand(1), expected)


RIGHT = {
    checks.check_forget_bias: [(set_bias(), "sum is b"), (set_bias(ih=lambda b: b / 2, hh=lambda b: b / 2), "sum is b")]
}
SLIPS = {
    checks.check_forget_bias: [
        (set_bias(hh=lambda b: b), "their sum is 2b"),
        (set_bias(quarter=0), "changes the input gate i"),
        (set_bias(quarter=2), "changes the candidate g"),
        (set_bias(quarter=3), "changes the output gate o"),
        (set_bias(quarter=None), "all gates"),
        (set_bias(hh=None), "kept its random values"),
        (set_bias(layers=(0,)), "layer 1 was left alone"),
        (set_bias(layers=(1,)), "layer 0 was left alone"),
        (lambda lstm, b: None, "nothing was changed"),
        (lambda lstm, b: nn.init.zeros_(lstm.weight_hh_l1), "weight_hh_l1 was changed"),
    ],
    checks.check_convert: [
        (lambda weights: weights, "nothing was changed"),
        (change(1, how=lambda part: 1 - part), "subtracted from 1"),
        (change(0), "reset gate"),
        (change(2), "candidate"),
        (lambda weights: {name: -value for name, value in weights.items()}, "everything"),
        (change(1, "weight"), "biases were forgotten"),
        (change(1, "_ih"), "only the input's"),
        (change(1, "_hh"), "only the old state's"),
        (lambda weights: None, "must return a dict"),
        (lambda weights: {"z": weights["bias_ih_l0"]}, "must have the names"),
    ],
    checks.check_lgru: [
        (lambda a, u, r, gate, H: tanh(a + r * u + gate * H), "no longer linear"),
        (lambda a, u, r, gate, H: tanh(a + u + gate * H + r * u), "expanded line"),
        (lambda a, u, r, gate, H: tanh(a + r * u) + H, "gate l is missing"),
        (lambda a, u, r, gate, H: tanh(r * a + u) + gate * H, "not to the input"),
        (lambda a, u, r, gate, H: tanh(a + u) + gate * H, "reset gate is missing"),
        (lambda a, u, r, gate, H: tanh(a + r * u), "candidate of a GRU"),
        (lambda a, u, r, gate, H: a + r * u + gate * H, "tanh is missing"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)
