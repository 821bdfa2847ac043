"""The figures of the chapter on hybrids draw what they are given."""

import matplotlib.pyplot as plt
import pytest
from scipy.stats import binomtest

from rtx_book.pictures import hybrids as pictures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def run(end, *steps, later=0.0, diverged=None):
    rows = [{"step": step, "accuracy": value} for step, value in steps]
    metrics = {} if end is None else {"accuracy": end}
    return {"evaluations": rows, "metrics": metrics, "elsewhere": {"long": {"accuracy": later}}, "diverged": diverged}


RUNS = [
    run(1.0, (100, 0.5), (200, 0.99), later=0.995),
    run(0.995, (100, 0.99), (200, 0.98), later=0.98),
    run(0.9, (100, 0.995)),  # there on its way, not at the end
    run(None, diverged=7, later=1.0),
]


def test_who_solved_a_task_and_when():
    assert pictures.told(RUNS, "accuracy", 0.99) == (2, 4, 150)
    assert pictures.told(RUNS, "accuracy", 0.99, "long") == (1, 4, 200)
    assert pictures.told(RUNS[2:], "accuracy", 0.99) == (0, 2, None)


def test_a_share_has_its_interval_and_its_steps():
    rows = {"one → two": [(18, 20, 300), (0, 20, None)], "two → one": [(20, 20, 1200), (5, 10, 250)]}
    fig = pictures.draw_stacks(rows, ["track", "look up"])
    (interval, share), low = fig.axes[0].get_lines()[:2], binomtest(18, 20).proportion_ci().low
    assert share.get_xdata() == [0.9] and interval.get_xdata()[0] == pytest.approx(low)
    assert [text.get_text() for text in fig.axes[0].texts] == ["300", "1,200", "steps"]
    assert [text.get_text() for text in fig.axes[1].texts] == ["–", "250", "steps"]
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == list(rows)
    assert pictures.describe_stacks(rows, ["track", "look up"]) == (
        "one → two: track 18 of 20, look up 0 of 20; two → one: track 20 of 20, look up 5 of 10."
    )


def test_what_forms_is_named_at_its_line():
    fig = pictures.draw_forming({"looks back": [0, 0.5, 1], "right": [0.25, 0.3, 1]}, [0, 5, 10], 0.25)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
    assert list(lines["looks back"]) == [0, 0.5, 1] and fig.axes[0].get_xlim() == (0, 10)
