"""Figures of forecasts: what is best stands where the errors say."""

import numpy as np

from rtx_book.pictures import time_series as pictures


def test_a_thin_line_stands_at_the_best_median_of_each_series() -> None:
    fig = pictures.draw_shares({"a": {"GRU": [0.5, 0.7, 0.9], "ARIMA": [0.6]}, "b": {"GRU": [2.0], "ARIMA": [3.0]}})
    lines = [[float(np.min(line.get_xdata())) for line in ax.lines if line.get_label() == "_best"] for ax in fig.axes]
    assert lines == [[0.6], [2.0]]
