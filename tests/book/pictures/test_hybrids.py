"""The figures of the chapter on hybrids draw what they are given."""

from rtx_book.pictures import hybrids as pictures


def test_every_run_is_a_dot():
    rows = {"one → two": [None, (5, 9, (0, 1), 2)], "two → one": [(18, 20, (0.7, 0.98), 300), (0, 20, (0, 0.2), None)]}
    fig = pictures.draw_stacks(rows, ["track", "look up"])
    dots = [own for ax in fig.axes for own in ax.collections]
    assert [int((own.get_facecolors()[:, 3] > 0).sum()) for own in dots] == [18, 5, 0]
    assert [len({*map(tuple, own.get_offsets())}) for own in dots] == [20, 9, 20]
    assert [[(one.get_text(), one.xy[1]) for one in ax.texts] for ax in fig.axes] == [[("18", 1)], [("5", 0), ("0", 1)]]
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == list(rows)
    told = "one → two: look up 5 of 9; two → one: track 18 of 20, look up 0 of 20."
    assert pictures.describe_stacks(rows, ["track", "look up"]) == told


def test_what_forms_is_named_at_its_line():
    fig = pictures.draw_forming({"looks back": [0, 0.5, 1], "right": [0.25, 0.3, 1]}, [0, 5, 10], 0.25)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
    assert list(lines["looks back"]) == [0, 0.5, 1] and fig.axes[0].get_xlim() == (0, 10)
