"""Losses along a segment, costs, what an output can depend on, and the shift: as given, or as a real model does it."""

import numpy as np
import pytest
import torch
from support.drawn import check_inside, words
from torch import Tensor

from rtx_book.pictures import transformer_xl as xl
from rtx_lib.layers.positions import relative_shift
from rtx_lib.models.transformer_xl import TransformerXL


def test_a_segment_is_repeated_and_no_line_crosses_the_border() -> None:
    losses = torch.rand(3, 8) + 1
    given = {"no memory": losses, "memory 8": torch.ones(8)}
    (ax,) = xl.draw_position_losses(given, repeats=3, line=(2.5, "pairs")).axes
    curves = [line for line in ax.get_lines() if len(line.get_xdata()) == 8]
    assert len(curves) == 6
    for r, line in enumerate(curves[:3]):
        np.testing.assert_allclose(line.get_xydata(), np.stack([np.arange(1, 9) + 8 * r, losses.median(0).values], 1))
    assert [words(ax).count(name) for name in ("border", "no memory", "memory 8", "pairs")] == [2, 1, 1, 1]
    marks = {tick: label.get_text() for tick, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)}
    assert all(str(int((tick - 1) % 8 + 1)) == label for tick, label in marks.items()), "each segment counts from one"


PUBLISHED = {800: 363.0, 1800: 773.0, 2800: 1409.0, 3800: 1874.0}


def test_costs_are_drawn_on_logarithms_next_to_the_published() -> None:
    ratios = np.array([[30, 110, 450, 1800], [34, 120, 500, 1900.0], [32, 115, 470, 1850]])
    lengths = (64, 256, 1024, 3800)
    (ax,) = xl.draw_costs(lengths, {"this machine": ratios}, PUBLISHED).axes
    curve, points = ax.get_lines()[:2]
    assert ax.get_xscale() == ax.get_yscale() == "log"
    np.testing.assert_allclose(curve.get_xydata(), np.stack([lengths, np.median(ratios, axis=0)], 1))
    assert dict(points.get_xydata().tolist()) == PUBLISHED
    assert words(ax) == ["this machine:\n× 32 to × 1,850", "◇ Dai et al. 2019"]
    check_inside(ax.figure)


def test_losses_against_the_memory_of_the_test_are_drawn_and_that_of_the_training_is_ringed() -> None:
    losses = {"A": np.array([[3.0, 2.0, 2.5], [3.2, 2.2, 2.9], [3.1, 2.4, 2.6]]), "B": [4.0, 3.0, 1.0]}
    panels = xl.draw_test_memory(losses, (0, 64, 1024), trained={"A": 64, "B": 1024}, line=(3.5, "pairs")).axes
    drawn = {ax.get_title("left"): {line.get_label(): line for line in ax.get_lines()} for ax in panels}
    own = {name: lines[name].get_ydata().tolist() for name, lines in drawn.items()}
    assert own == {"A": pytest.approx([3.1, 2.2, 2.6]), "B": [4, 3, 1]}
    assert [lines["_trained"].get_xydata().tolist() for lines in drawn.values()] == [[[1, 2.2]], [[2, 1]]]
    assert all(list(lines["_baseline"].get_ydata()) == [3.5, 3.5] for lines in drawn.values())
    assert [ax.get_xticks().tolist() for ax in panels] == [[0, 1, 2], [0, 2]]


def test_an_effect_ends_at_the_reach_and_a_context_curve_shows_its_numbers() -> None:
    effect = (torch.arange(1, 5), torch.tensor([1.0, 0.1, 0.0, 0.0]))
    losses = {"plain": [2.0, 1.5, 1.4], "LSTM": [1.9, 1.8, 1.7]}
    top, bottom = xl.draw_context_use({"plain": effect}, losses, (16, 32, 48), {"plain": 2}, line=(1.75, "pairs")).axes
    curve = next(line for line in top.get_lines() if line.get_label() == "plain")
    np.testing.assert_allclose(curve.get_xydata(), [[1, 1], [2, 0.1]])  # no zeros on a log axis
    lstm = next(line for line in bottom.get_lines() if line.get_label() == "LSTM")
    assert lstm.get_xydata().tolist() == [[16, 1.9], [32, 1.8], [48, 1.7]]
    reaches = [line.get_xdata()[0] for ax in (top, bottom) for line in ax.get_lines() if line.get_label() == "_reach"]
    assert reaches == [2, 2] and [line.get_ydata()[0] for line in bottom.get_lines()][-1] == 1.75


def read(layers: int, memory: int, x: Tensor) -> Tensor:
    """Outputs (B, L, 3) of a model for x (B, L, 4), a segment of 4 at a time."""
    torch.manual_seed(0)
    model = TransformerXL(4, 3, width=8, heads=2, layers=layers, memory=memory).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    state, outputs = None, []
    for piece in x.split(4, dim=1):
        y, state = model(piece, state)
        outputs.append(y)
    return torch.cat(outputs, dim=1)


@pytest.mark.parametrize(("layers", "memory"), [(3, 4), (3, 0), (2, 5), (2, 8), (1, 2)])
def test_what_is_lit_changes_the_output_of_a_model_and_gradients_go_where_it_is_solid(layers: int, memory: int) -> None:
    """Each input of a long text is changed in turn, in a model that reads it in segments."""
    earlier, output = 32, 47  # the text that the drawing leaves out on the left
    x = torch.randn(1, earlier + 16, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    changed = x.repeat(output + 2, 1, 1)
    changed[range(1, output + 2), range(output + 1)] += 1
    y = read(layers, memory, changed)[:, output]
    reached = {p - earlier for p in range(output + 1) if (y[p + 1] - y[0]).abs().max() > 1e-12}
    read(layers, memory, x.requires_grad_())[0, output].sum().backward()
    felt = {p - earlier for p in range(output + 1) if x.grad[0, p].abs().max() > 0}  # type: ignore[index]

    ax = xl.draw_segments(layers, memory).axes[0]
    lit = {str(dots.get_gid()): {round(x) for x, y in dots.get_offsets() if y == 0} for dots in ax.collections}
    assert lit.get("own", set()) == felt
    assert lit.get("own", set()) | lit.get("stored", set()) == {p for p in reached if p >= 0}
    reach = 15 - min(reached)
    assert f"{reach} positions back" in "\n".join(words(ax))
    assert (f"← {-min(reached)} more" in words(ax)) == (min(reached) < 0)
    told = xl.describe_segments(layers, memory)
    assert f"reaches {reach} positions" in told if memory else "no path crosses the border" in told


def test_restarting_numbers_repeat_and_distances_do_not() -> None:
    assert "".join(word for word in words(xl.draw_clash().axes[0]) if word.isdigit()) == "0123012376543210"


@pytest.mark.parametrize(("queries", "keys"), [(3, 5), (2, 2), (4, 5), (1, 1), (7, 30)])
def test_cells_are_those_of_the_shift_and_hold_their_distance(queries: int, keys: int) -> None:
    numbers = torch.arange(1, queries * keys + 1).view(queries, keys)
    shifted, cells = relative_shift(numbers), xl.shifted_cells(queries, keys)
    for i in range(queries):
        for j in range(keys):
            cell = cells[i][j]
            assert shifted[i, j] == (0 if cell is None else numbers[cell[0], keys - 1 - cell[1]])
            assert j > keys - queries + i or cell == (i, keys - queries + i - j)


NAMES = [["0" if cell is None else f"{'abc'[cell[0]]}{cell[1]}" for cell in row] for row in xl.shifted_cells(3, 5)]


def test_the_cells_that_no_query_needs_are_named() -> None:
    assert xl.describe_shift("masked").count(f"{' and '.join(NAMES[0][3:])} in row a and {NAMES[1][4]} in row b") == 1


@pytest.mark.parametrize("row", range(3))
def test_what_is_said_of_a_row_is_what_the_shift_does(row: int) -> None:
    told, read = xl.describe_shift(xl.SHIFT_STEPS[6 + row]), NAMES[row]
    skipped = ["0", *(f"{'abc'[row]}{d}" for d in (4, 3))][: 3 - row]
    said = ", ".join(skipped[:-1]) + " and " * (row < 2) + skipped[-1]
    assert f"skips {said} of row" in told and f"It reads {', '.join(read)}: the first is distance {read[0][1]}" in told
    (ax,) = xl.draw_shift(xl.SHIFT_STEPS[6 + row]).axes
    assert ax.get_title().startswith(f"row {'abc'[row]} skips {said}, so it")
