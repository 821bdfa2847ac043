"""Fixtures of the rooms that draw."""

import itertools
from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes

from rtx_book.page import figure
from rtx_lib.plots import style


@pytest.fixture(autouse=True)
def book_style(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every drawing of this room in the book's style, without a screen, numbered from 1, and closed afterwards."""
    monkeypatch.setattr(figure, "_number", itertools.count(1))
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


@pytest.fixture
def ax() -> Axes:
    return plt.subplots()[1]
