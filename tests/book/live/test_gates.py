"""Gates by hand: the page's LSTM and GRU are the library's, step by step, whatever gates are forced."""

from pathlib import Path

import pytest
import torch
from live.parity import BAR, arrays, disturb, errors, flat
from live.widgets import press, status

from rtx_lib.layers import GRU, LSTM

CELLS = {"lstm": (LSTM, "ifgo", "ifo"), "gru": (GRU, "rzn", "rz")}  # the layer, its blocks in order, its gates
RUN = Path(__file__).with_name("gates-run.js").read_text()


def a_case(kind, inputs, hidden, length, seed):
    """A layer in float64, inputs (T, D), and hands (T) from gates to values, None where the weights decide."""
    cell, _, gates = CELLS[kind]
    draw = torch.Generator().manual_seed(seed)
    core = disturb(cell(inputs, hidden), 0.5, seed)
    xs = torch.randn(length, inputs, generator=draw, dtype=torch.float64)
    hands = []
    for t in range(length):
        forced = torch.rand(len(gates), hidden, generator=draw, dtype=torch.float64)
        forced = torch.where(forced < 0.25, 0.0, torch.where(forced > 0.9, 1.0, forced))
        free = torch.rand(len(gates), hidden, generator=draw) < (1.0 if t % 3 == 0 else 0.4)
        hands.append(
            {gate: [None if free[k, j] else forced[k, j].item() for j in range(hidden)] for k, gate in enumerate(gates)}
        )
    return core, xs, hands


def reference(kind, core, xs, hands):
    """The library's layer, one step at a time: a forced gate is one whose weights are 0 and whose bias gives it."""
    cell, blocks, _ = CELLS[kind]
    hidden, seen, state = core.hidden_size, {name: [] for name in blocks}, None
    memory, total, kept = [], [], []
    for x, hand in zip(xs, hands, strict=True):
        forced = cell(core.input_size, hidden).double()
        forced.load_state_dict(core.state_dict())
        with torch.no_grad():
            for k, name in enumerate(blocks):
                for j, value in enumerate(hand.get(name, ())):
                    if value is not None:
                        for parameter in forced.parameters():
                            parameter[k * hidden + j] = 0
                        bias = torch.logit(torch.tensor(value, dtype=torch.float64)).clamp(-800, 800)
                        forced.bias_ih_l0[k * hidden + j] = bias
        gates = []
        forced.gate_tap.register_forward_hook(lambda _, given, out, gates=gates: gates.extend(given[0]))
        _, state = forced(x[None, None], state)
        for name, value in zip(blocks, gates[0][0].chunk(len(blocks)), strict=True):
            seen[name].append(value)
        memory.append((state[1] if kind == "lstm" else state).flatten())
        total.append((state[0] if kind == "lstm" else state).flatten())
        kept.append(seen["f" if kind == "lstm" else "z"][-1])
    found = {name: torch.stack(values) for name, values in seen.items()}
    left = [torch.stack(kept[s + 1 :] or [torch.ones(hidden).double()]).prod(0) for s in range(len(xs))]
    return {**found, "h": torch.stack(total), "sums": torch.stack(memory), "left": torch.stack(left)} | (
        {"c": torch.stack(memory)} if kind == "lstm" else {}
    )


def of_the_page(page, core, xs, hands):
    return page.evaluate(RUN, {"weights": arrays(core), "xs": xs.tolist(), "hands": hands})


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize(("inputs", "hidden", "length"), [(1, 1, 12), (1, 2, 12), (3, 5, 20)])
def test_every_gate_and_state_is_that_of_the_library(live, kind, inputs, hidden, length):
    page = live("arithmetic", "gated")
    for seed in range(3):
        case = a_case(kind, inputs, hidden, length, seed)
        off = errors(of_the_page(page, *case), reference(kind, *case))
        assert max(off.values()) < BAR, off


def test_what_is_left_is_the_derivative_along_the_line(live):
    """With all gates held and no recurrent weights, autograd finds nothing but the product of the forget gates."""
    core, xs, _ = a_case("lstm", 1, 2, 10, 4)
    with torch.no_grad():
        core.weight_hh_l0.zero_()
    cells = []
    core.cell_tap.register_forward_hook(lambda _, given, out: cells.extend(given[0]))
    core(xs[None])
    by_autograd = [
        torch.stack([torch.autograd.grad(cells[-1][0, j], cells[s], retain_graph=True)[0][0, j] for j in range(2)])
        for s in range(9)
    ]
    found = of_the_page(live("arithmetic", "gated"), core, xs, [])["left"]
    assert max(errors({"left": found[:-2]}, {"left": torch.stack(by_autograd)}).values()) < BAR
    assert found[-2:] == flat(torch.ones(2))


def column(page, name):
    """The numbers of one column of the table, from step 1 on."""
    heads = page.locator(".live-gates thead th").all_inner_texts()
    place = next(k for k, head in enumerate(heads) if head == name or head.startswith(f"{name} "))
    return [row.split("\t")[place].strip() for row in page.locator(".live-gates tbody tr").all_inner_texts()]


def test_gates_are_shut_opened_and_given_back(widget):
    page = widget("gates")
    told = page.locator(".live-gates .live-task").inner_text
    assert column(page, "left")[2:4] == ["100\u00a0%", "88\u00a0%"] and "is worth 0.30" in told()
    press(page, "Keep everything")
    assert set(column(page, "left")[2:]) == {"100\u00a0%"} and "is worth 0.95" in told()
    gate = page.get_by_role("button", name="step 9, forget gate")
    gate.click()
    assert column(page, "left")[7:] == ["100\u00a0%"] + ["0\u00a0%"] * 4
    assert "the forget gate is shut" in status(page)
    gate.click()
    assert "the forget gate is open" in status(page) and column(page, "left")[8] == "100\u00a0%"
    press(page, "Give this gate back")
    assert "forget gate: by the weights" in status(page) and column(page, "left")[8] == "88\u00a0%"
    press(page, "Hands off")
    assert column(page, "left")[11] == "32\u00a0%"


def test_all_is_done_by_keyboard(widget):
    page = widget("gates", pulses={3: 1})
    page.get_by_role("button", name="step 3, forget gate").focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "ArrowDown", "Enter"):  # to the input of step 5
        page.keyboard.press(key)
    assert "Step 5: a pulse of 1.00" in status(page) and column(page, "x")[2:5] == ["1", "0", "1"]
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.ariaLabel").startswith("step 12, input")
    page.get_by_label("height").fill("30")  # of 0 to 40, from -1 to 1
    assert column(page, "x")[11] == "0.5"
    page.get_by_role("radio", name="GRU").check()
    assert "update gates of steps 4 to 12" in page.locator(".live-gates .live-task").inner_text()
    assert page.evaluate("[...document.querySelectorAll('.live-gates button[tabindex=\"0\"]')].length") == 1
