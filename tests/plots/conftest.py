from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes

from rtx_lib.plots import style


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    """Every drawing of this room in the book's style, without a screen, and closed afterwards."""
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


@pytest.fixture
def ax() -> Axes:
    return plt.subplots()[1]
