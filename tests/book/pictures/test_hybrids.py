"""The figures of the chapter on hybrids draw what they are given."""

from rtx_book.pictures import hybrids as pictures


def test_every_run_is_a_dot():
    rows = {"one → two": [(18, 20, (0.7, 0.98), 300), (0, 20, (0, 0.2), None)], "two → one": [(5, 9, (0, 1), 2)] * 2}
    fig = pictures.draw_stacks(rows, ["track", "look up"])
    dots = [own for ax in fig.axes for own in ax.collections]
    assert [len(own.get_facecolors()) for own in dots] == [1, 0] * 4, "those that solved it are filled"
    assert [len({*map(tuple, own.get_offsets())}) for own in dots] == [18, 2, 5, 4, 0, 20, 5, 4]
    told = [[(one.get_text(), one.xy[1]) for one in ax.texts] for ax in fig.axes]
    assert told == [[("18", 0), ("5", 1)], [("0", 0), ("5", 1)]]
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == list(rows)
    told = "one → two: track 18 of 20, look up 0 of 20; two → one: track 5 of 9, look up 5 of 9."
    assert pictures.describe_stacks(rows, ["track", "look up"]) == told


def test_what_forms_is_named_at_its_line():
    fig = pictures.draw_forming({"looks back": [0, 0.5, 1], "right": [0.25, 0.3, 1]}, [0, 5, 10], 0.25)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
    assert list(lines["looks back"]) == [0, 0.5, 1] and fig.axes[0].get_xlim() == (0, 10)
