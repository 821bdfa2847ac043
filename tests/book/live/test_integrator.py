"""A leaky integrator by hand: the page's steps are the library's, and what is drawn shows at once."""

import re

import pytest
import torch
from live.parity import BAR, error
from live.widgets import press, status

from rtx_lib.kernels.selective import selective_scan_loop

RATES = [(1.0, 0.0), (4.0, 0.0), (0.5, 2.0), (0.0, 3.0), (0.0, 0.0), (1e-9, 0.0)]
B, C = 0.7, -1.3
RUN = """([u, deltas, how]) => {
  const steps = RTX.integrate(u, deltas, how)
  return {h: steps.flatMap(({h}) => h), y: steps.map(({y}) => y)}
}"""


def drawn(seed, length=40):
    draw = torch.Generator().manual_seed(seed)
    u, size = torch.randn(length, generator=draw).double(), torch.rand(length, generator=draw).double()
    return u, 10 ** (-3 + 3.4 * size)


def of_the_page(page, u, deltas, rule, alpha, omega):
    how = {"rule": rule, "alpha": alpha, "omega": omega, "B": B, "C": C}
    return page.evaluate(RUN, [u.tolist(), deltas.tolist(), how])


def by_the_library(u, deltas, kind, alpha, omega):
    """h as pairs, and y: a channel alone, one step at a time, so that every state comes out."""
    A, b, c = (torch.full((1, 1, 1), v, dtype=torch.complex128) for v in (complex(-alpha, omega), B, C))
    h, steps = torch.zeros_like(A), []
    for now, delta in zip(u, deltas, strict=True):
        y, h = selective_scan_loop(now.view(1, 1, 1), delta.view(1, 1, 1), A[0], b, c, h, kind)
        steps.append((h, y))
    h, y = (torch.cat(part) for part in zip(*steps, strict=True))
    return {"h": torch.view_as_real(h), "y": y.real}


@pytest.mark.parametrize(("rule", "kind"), [("exact", "zoh"), ("mamba", "euler")])  # each by its name there
@pytest.mark.parametrize(("alpha", "omega"), RATES[:4])
def test_states_and_outputs_are_the_librarys(live, rule, kind, alpha, omega):
    u, deltas = drawn(0)
    found = of_the_page(live("state-space"), u, deltas, rule, alpha, omega)
    wanted = by_the_library(u, deltas, kind, alpha, omega)
    assert max(error(found[name], wanted[name]) for name in "hy") < BAR


def test_a_rate_near_zero_adds_up(live):
    page, (u, deltas) = live("state-space"), drawn(1)
    for alpha, omega in RATES[4:]:
        found = of_the_page(page, u, deltas, "exact", alpha, omega)["y"]
        assert error(found, (C * B * deltas * u).cumsum(0)) < 1e-6


@pytest.mark.parametrize(("alpha", "omega"), RATES)
def test_eulers_rule_is_that_of_the_differential_equation(live, alpha, omega):
    u, deltas = drawn(2)
    h, wanted = 0j, []
    for now, delta in zip(u.tolist(), deltas.tolist(), strict=True):
        h += delta * (complex(-alpha, omega) * h + B * now)
        wanted.append(C * h.real)
    assert error(of_the_page(live("state-space"), u, deltas, "euler", alpha, omega)["y"], wanted) < BAR


def title(page):
    return page.locator(".integrator-told strong").inner_text()


def drag(page, name, *spots):
    """Press at the first (step, share of the height from the top) and draw over the others."""
    box = page.get_by_role("slider", name=name, exact=True).bounding_box()
    scale = max(1, box["width"] / 720)
    for k, (step, share) in enumerate(spots):
        x = box["x"] + 58 * scale + (box["width"] - 70 * scale) * (step - 0.5) / 64
        page.mouse.move(x, box["y"] + (18 + share * 50) * scale)
        if not k:
            page.mouse.down()
    page.mouse.up()


def test_what_is_forgotten_is_told_in_numbers(widget):
    panel = widget("integrator")
    assert "a = 0.905: half of what came in is forgotten after 6.9 steps" in title(panel)
    panel.get_by_role("radio", name="Euler’s, for both").check()
    panel.get_by_role("slider", name="rate A").fill("0")  # -4
    assert "Euler’s factor is 0.6 (exact: 0.67)" in title(panel)
    panel.locator(".live-range input").first.press("End")  # of delta: 3
    assert "Euler’s factor is −11" in title(panel) and "it grows" in title(panel)
    panel.get_by_role("radio", name="exact (zero-order hold)").check()
    panel.get_by_role("slider", name="rate A").press("End")
    assert title(panel) == "a = 1: nothing is forgotten."
    panel.get_by_role("slider", name="turn ω").fill("10")
    assert title(panel) == "|a| = 1: nothing is forgotten; it goes round once in 2.1 steps."  # of 3 radians


def test_the_input_is_drawn_by_pointer_and_by_keyboard(widget):
    panel = widget("integrator")
    press(panel, "Nothing")
    assert "h = a h + b u = 0.905 × 0.00 + 0.0952 × 0.00 = 0.00" in panel.locator(".integrator-told").inner_text()
    drag(panel, "input u at each step", (10, 0.0), (14, 0.5))
    strip = panel.get_by_role("slider", name="input u at each step")
    assert strip.get_attribute("aria-valuetext") == "step 14 of 64: u is 0"
    for keys, told in {
        "ArrowLeft ArrowLeft": "step 12 of 64: u is 0.5", "Home": "step 1 of 64: u is 0",
        "PageUp ArrowUp ArrowUp ArrowDown": "step 1 of 64: u is 0.6", "Shift+ArrowRight": "step 2 of 64: u is 0.6",
        "Delete End ArrowDown": "step 64 of 64: u is −0.1",
    }.items():  # fmt: skip
        for key in keys.split():
            strip.press(key)
        assert strip.get_attribute("aria-valuetext") == told
    assert panel.evaluate("scrollY") == 0


def test_large_steps_at_the_marks_keep_them_and_let_pass_the_rest(widget):
    page = widget("integrator", input="marks")

    def last():
        """The last state, and what of it is from the marks and from the rest."""
        told = page.locator(".integrator-told").inner_text().replace("−", "-")
        found = re.search(r"The last state is (\S+): (\S+) from the marks, (\S+) from all the rest", told)
        return [float(v) for v in found.groups()]

    before = last()
    yours, same = (page.get_by_role("radio", name=name) for name in ("yours", "the same at every step"))
    press(page, "Write only the marks")
    whole, marks, rest = last()
    assert abs(marks) > 0.6 > 20 * abs(rest) and whole == pytest.approx(marks + rest, abs=2e-3)
    assert yours.is_checked() and before[1] != marks
    same.check()
    assert last() == before
    drag(page, "step size Δ at each step", (5, 0.0))
    assert yours.is_checked() and title(page).startswith("Step 5, Δ = 3: of the state 5\u00a0% stays")
    press(page, "All the same")
    assert "Δ = 0.1" in title(page) and title(page) in status(page)
