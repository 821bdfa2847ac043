"""Comparisons of the part on recurrence."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rtx_book.bench.measuring import Variant, both_ways, compare
from rtx_lib.kernels import explain_backend, relu_recurrence
from rtx_lib.layers import GRU, LSTM, RNN


def rnn(device: str = "cpu", batch: int = 32, time_steps: int = 200, hidden: int = 128) -> list[dict[str, Any]]:
    """Forward and backward of our RNN, and of the same loop with ``x[:, t]``, against torch.nn.RNN.

    Then ours against that loop, which makes the gradient of each step as large as the whole sequence.
    """
    torch.manual_seed(0)
    x = torch.randn(batch, time_steps, hidden).to(device).requires_grad_()
    ours, theirs = RNN(hidden, hidden).to(device), nn.RNN(hidden, hidden, batch_first=True).to(device)
    theirs.load_state_dict(ours.state_dict())
    weight_ih, weight_hh, bias_ih, bias_hh = ours.parameters()

    def indexed(x: Tensor) -> Tensor:
        z = nn.functional.linear(x, weight_ih, bias_ih + bias_hh)
        h, states = z.new_zeros(batch, hidden), []
        for t in range(time_steps):
            h = torch.tanh(torch.addmm(z[:, t], h, weight_hh.T))
            states.append(h)
        return torch.stack(states, 1)

    variants = {
        "torch.nn.RNN": both_ways(theirs, x),
        "rtx_lib RNN": both_ways(ours, x),
        "loop over x[:, t]": both_ways(indexed, x),
    }
    rows = compare("rnn", "torch.nn.RNN", variants, device, kind="torch.nn")
    del variants["torch.nn.RNN"]
    return rows + compare("rnn", "loop over x[:, t]", variants, device, kind="plain loop")


def cells(device: str = "cpu", batch: int = 32, time_steps: int = 200, hidden: int = 128) -> list[dict[str, Any]]:
    """Forward and backward, all weights included, of our LSTM and GRU against torch.nn's, and against a plain loop.

    ``backend="torch"`` runs the same fused function as torch.nn and should cost the same. The plain loop calls torch's
    LSTMCell or GRUCell for each step, and so multiplies each input by its weights in turn.
    """
    torch.manual_seed(0)
    x = torch.randn(batch, time_steps, hidden).to(device).requires_grad_()
    rows = []
    for layer, twin, single in ((LSTM, nn.LSTM, nn.LSTMCell), (GRU, nn.GRU, nn.GRUCell)):
        name = layer.__name__
        models: dict[str, nn.Module] = {
            f"torch.nn.{name}": twin(hidden, hidden, batch_first=True),
            f"rtx_lib {name}": layer(hidden, hidden),
            f'rtx_lib {name}, backend="torch"': layer(hidden, hidden, backend="torch"),
        }
        weights = models[f"rtx_lib {name}"].state_dict()
        for model in models.values():
            model.to(device).load_state_dict(weights)
        cell: nn.Module = single(hidden, hidden).to(device)
        cell.load_state_dict({key.removesuffix("_l0"): value for key, value in weights.items()})

        def looped(x: Tensor, cell: nn.Module = cell) -> Tensor:
            state, outputs = None, []
            for x_t in x.unbind(1):
                state = cell(x_t, state)
                outputs.append(state[0] if isinstance(state, tuple) else state)
            return torch.stack(outputs, 1)

        variants = {variant: both_ways(model, x, model.parameters()) for variant, model in models.items()}
        rows += compare("cells", f"torch.nn.{name}", variants, device, rounds=15, kind="torch.nn")
        loop = f"loop of torch.nn.{single.__name__}"
        variants = {loop: both_ways(looped, x, cell.parameters()), f"rtx_lib {name}": variants[f"rtx_lib {name}"]}
        rows += compare("cells", loop, variants, device, rounds=15, kind="plain loop")
    return rows


def indrnn(
    device: str = "cpu",
    sizes: Sequence[tuple[int, int, int]] = ((50, 100, 128), (50, 1000, 128), (50, 5000, 128), (1, 5000, 64)),
) -> list[dict[str, Any]]:
    """Forward and backward of ``relu_recurrence`` against its loop, for several (B, T, N).

    The error is that of the gradient of u, to which every state and every gradient adds. On a GPU one more row
    moves as many bytes as a perfect kernel would (forward z in, h out; backward g, h in, dz out) and does no work.
    """
    rows = []
    for batch, steps, neurons in sizes:
        generator = torch.Generator().manual_seed(0)
        z, g = (torch.randn(batch, steps, neurons, generator=generator).to(device) for _ in range(2))
        u = (torch.rand(neurons, generator=generator) * 2 - 1).to(device) * 2 ** (1 / steps)
        z.requires_grad_(), u.requires_grad_()

        def once(backend: str, z: Tensor = z, u: Tensor = u, g: Tensor = g) -> Tensor:
            _, du = torch.autograd.grad(relu_recurrence(z, u, backend=backend), (z, u), g)
            return du

        names = {"loop over unbind": "loop", f"auto ({explain_backend(z).partition(':')[0]})": "auto"}
        if z.numel() < 10**7 or device != "cpu":
            names["scan"] = "scan"
        variants: dict[str, Variant] = {name: partial(once, backend) for name, backend in names.items()}
        if device != "cpu":
            variants["moving the bytes"] = partial(_move_five_words, z.detach(), torch.empty_like(z), once("auto"))
        rounds = 7 if steps > 1000 else 15
        for row in compare("indrnn", "loop over unbind", variants, device, rounds, kind="plain loop"):
            row["variant"] += f", B={batch} T={steps} N={neurons}"
            rows.append(row)
    return rows


def _move_five_words(z: Tensor, copy: Tensor, result: Tensor) -> Tensor:
    """Read and write five words for each value of z; a copy reads one and writes one."""
    copy.copy_(z)
    copy.copy_(z)
    half = z.numel() // 2
    copy.view(-1)[:half].copy_(z.view(-1)[:half])
    return result
