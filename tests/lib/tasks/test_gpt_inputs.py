"""GPT's input transformations, by hand."""

from functools import partial

from support.helpers import refusals

from rtx_lib.tasks.gpt_inputs import gpt_row

row = partial(gpt_row, start=20, delimiter=21, extract=22)


def test_rows_by_hand() -> None:
    assert row([5, 6]) == [20, 5, 6, 22]
    assert row([5, 6], [7]) == [20, 5, 6, 21, 7, 22]
    assert row([5], [7, 8], []) == [20, 5, 21, 7, 8, 21, 22]


BOTH = "start, delimiter and extract must be three ids that no text holds, and none 0, got 20, 21 and 22"
test_what_is_not_allowed = refusals(
    [
        (lambda: row([5], delimiter=20), BOTH.replace("21", "20")),
        (lambda: row([5], [6, 22]), BOTH),
        (lambda: row([0]), BOTH),
    ],
    plain=True,
)
