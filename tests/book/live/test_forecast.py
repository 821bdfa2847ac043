"""The forecasters of the page are the library's; what is drawn is gone on with, measured and searched for a season."""

import re

import numpy as np
import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN

from rtx_lib.layers import GRU
from rtx_lib.models import NLinear, Patched
from rtx_lib.models.transformer import Encoder
from rtx_lib.tasks import naive

PARTS = ("arithmetic", "recurrent", "attention", "forecast")
READ = "([weights, how, windows]) => windows.map((x) => RTX.forecaster(matrices(weights), how)(x))"
LOOK = """([x, season]) => ({r: RTX.autocorrelation(x, 48), flat: RTX.autocorrelation(RTX.withoutTrend(x), 48),
  season: RTX.seasonOf(x), naive: RTX.seasonal(x, 24, season)})"""
ENCODER = {"width": 12, "heads": 3, "layers": 2, "inner": 20, "length": 12, "activation": "gelu"}
CORES = {"gru": lambda: GRU(10, 10, 2), "as they are": lambda: GRU(8, 6)}  # patches of 8, embedded or not
CORES |= {p: lambda p=p: Encoder(8, None, norm=p, positions="learned", **ENCODER) for p in ("pre", "post")}
NORMS = [("last", "last"), ("instance", "flat"), (None, "last")]


@pytest.mark.parametrize("core", [*CORES, None])
def test_quantiles_are_the_librarys(live, double, core):
    page, x = live(*PARTS), 3 + torch.randn(3, 96, generator=torch.Generator().manual_seed(0)).double().cumsum(1)
    x[2] = 7.0  # nothing happens
    for norm, head in NORMS if core else NORMS[:1]:
        torch.manual_seed(0)
        model = NLinear(96, 5, 1, outputs=3)
        if core:
            model = Patched(CORES[core](), 96, 5, 1, 8, norm=norm, head=head, outputs=3)
        with torch.no_grad():
            wanted = disturb(model, 0.2).eval()(x.unsqueeze(-1))[0]
        found = page.evaluate(READ, [arrays(model), {"norm": norm, "heads": 3}, x.tolist()])
        assert error(torch.tensor(found), wanted) < BAR


@pytest.mark.parametrize(("kind", "season"), [("season", 12), ("long", 48), ("noise", 5), ("walk", 1), ("flat", 1)])
def test_correlations_seasons_and_the_naive_are_the_librarys(live, double, kind, season):
    t, noise = np.arange(96.0), np.random.default_rng(0).normal(size=96)
    kinds = {"season": 40 + t / 3 + 9 * np.sin(np.pi * t / 6) + noise, "noise": noise, "walk": noise.cumsum()}
    kinds |= {"long": t**2 / 100 + np.sin(np.pi * t / 14) + 0.1 * noise, "flat": 0 * t + 3}
    x = kinds[kind]
    found = live(*PARTS).evaluate(LOOK, [x.tolist(), season])
    assert np.abs(found["r"] - naive.autocorrelation(x, 48)).max() < BAR and found["season"] == naive.season_of(x)
    rest = naive.autocorrelation(naive._without_trend(x[:, None])[:, 0], 48)
    assert kind == "flat" or np.abs(found["flat"] - rest).max() < BAR
    low, middle, high = torch.tensor(found["naive"]).T
    x = torch.tensor(x)
    assert error(middle, naive.seasonal(x.view(1, -1, 1), 24, season)) < BAR
    assert torch.allclose(high - middle, middle - low)
    for h in (0, 23) if kind != "flat" else ():  # as wide as it has erred, so many seasons back
        lag = season * (h // season + 1)
        assert ((x[lag:] - x[:-lag]).abs() <= high[h] - middle[h] + BAR).double().mean() == pytest.approx(0.8, abs=0.02)


def told(page):
    return page.locator(".forecast-told").inner_text()


def numbers(page):
    """By forecaster, its mean error from the start that is shown, and how many values its interval held."""
    found = re.findall(r"(\w+)(?: \(season \d+\))? ([\d.]+)(?:\u00a0ppm)? \((\d+)\)", told(page))
    return {name: (float(off), int(held)) for name, off, held in found}


def test_all_go_on_at_once_and_are_measured_where_the_start_is_dragged(widget):
    given = GIVEN["forecast"]()
    page, one = widget("forecast", **given), torch.tensor(given["series"]["CO2"]["values"])
    before = numbers(page)
    assert [*sorted(before)] == ["GRU", "NLinear", "Transformer", "naive"] and "(season 12)" in told(page)
    page.wait_for_function("document.querySelector('.forecast-told').innerText.includes('Over all 25 starts:')")
    page.get_by_label("intervals").uncheck()
    page.get_by_role("checkbox", name="NLinear").uncheck()
    assert page.locator(".forecast-band").count() == 0 and len(numbers(page)) == 3
    level = page.get_by_label("the GRU reads without level and scale")
    level.uncheck()
    assert "GRU, level left in" in told(page)
    level.check()
    assert numbers(page)["GRU"] == before["GRU"]
    page.get_by_label("Series:").select_option("CO2")
    box = page.locator(".forecast-picture").bounding_box()
    scale, y = max(1, box["width"] / 720), box["y"] + 12
    step, left = (box["width"] - 60 * scale) / 168, box["x"] + 46 * scale
    page.mouse.move(left + 120 * step, y)
    page.mouse.down()
    page.mouse.move(left + 100 * step, y + 90)
    assert told(page).startswith("From step 100 on") and page.get_by_label("forecast starts at").input_value() == "4"
    wrong = one[100:124] - naive.seasonal(one[4:100].view(1, -1, 1), 24, 12).flatten()
    assert numbers(page)["naive"][0] == float(f"{wrong.abs().mean():.2g}") and "\u00a0ppm" in told(page)
    page.mouse.move(left + 160 * step, y)
    page.mouse.up()
    assert told(page).startswith("Nothing has followed yet") and not numbers(page)


def test_a_series_is_drawn_by_pointer_and_by_keyboard(widget):
    page = widget("forecast")
    page.get_by_label("Series:").select_option("a flat line, to draw on")
    picture = page.get_by_role("slider", name="the series", exact=True)
    assert numbers(page)["naive"] == (0, 24)
    box = picture.bounding_box()
    scale = max(1, box["width"] / 720)
    for t, share in ((124, 0.5), (134, 0.0)):
        across, down = 46 + (t + 0.5) * (box["width"] / scale - 60) / 168, 30 + 166 * share
        page.mouse.move(box["x"] + across * scale, box["y"] + down * scale)
        page.mouse.down()  # again changes nothing
    page.mouse.up()
    assert picture.get_attribute("aria-valuetext") == "step 135 of 144: 100" and numbers(page)["naive"][0] > 5
    for keys, says in {
        "ArrowLeft": "step 134 of 144: 95", "Home": "step 1 of 144: 50",
        "PageUp ArrowUp ArrowDown": "step 1 of 144: 63",
        "Shift+ArrowRight": "step 2 of 144: 63", "End ArrowDown": "step 144 of 144: 48",
    }.items():  # fmt: skip
        for key in keys.split():
            picture.press(key)
        assert picture.get_attribute("aria-valuetext") == says
    assert page.evaluate("scrollY") == 0


def test_a_lag_is_dragged_and_the_naive_may_repeat_it(widget):
    page = widget("forecast")
    found, before = page.locator(".live-charts .live-task").inner_text, numbers(page)["naive"]
    assert re.fullmatch(r"Lag 12: correlation 0\.\d\d\. Season found: 12\.", found())
    bars = page.locator(".forecast-lags").bounding_box()
    page.mouse.click(bars["x"] + 40 + (bars["width"] - 48) * 5.5 / 48, bars["y"] + 180)
    assert found().startswith("Lag 6: correlation −0.") and page.get_by_role("slider", name="lag").input_value() == "5"
    page.get_by_label("seasonal naive repeats this lag").check()
    assert "(season 6)" in told(page) and numbers(page)["naive"] > before
    page.get_by_label("trend taken out first").uncheck()
    page.get_by_label("Series:").select_option("noise")
    assert found().endswith("No season found.")
