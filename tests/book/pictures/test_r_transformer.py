"""The drawings of a LocalRNN: the words count the inputs that reach the output."""

import pytest

from rtx_book.pictures.r_transformer import describe_reach, draw_reach


@pytest.mark.parametrize(("window", "layers"), [(1, 1), (4, 1), (12, 1), (3, 2), (8, 3)])
def test_the_inputs_that_reach_the_output_are_counted(window: int, layers: int) -> None:
    """Against the paths themselves, walked back from the output."""
    near = {11}
    for _ in range(layers):
        near = {k for j in near for k in range(max(1, j - window + 1), j + 1)}
    count = f"{len(near)} input{'s' * (len(near) > 1)}"
    assert draw_reach(window, layers).axes[0].get_title() == f"LocalRNN alone: {count}; with attention: 11 inputs"
    assert f"the last {count}," in describe_reach(window, layers)
