"""The figures of the chapter on hybrids draw what they are given."""

from rtx_book.pictures import hybrids as pictures


def test_every_run_is_a_dot():
    rows = {"one → two": [(18, 20, (0.7, 0.98), 300), (0, 20, (0, 0.2), None)]}
    fig = pictures.draw_stacks(rows, ["track", "look up"])
    dots = [[len(own.get_offsets()) for own in axes.collections] for axes in fig.axes]
    assert dots == [[18, 2], [0, 20]], "those that solved it, filled, and the others"
    assert [axes.texts[0].get_text() for axes in fig.axes] == ["18", "0"]
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == list(rows)
    assert pictures.describe_stacks(rows, ["track", "look up"]) == "one → two: track 18 of 20, look up 0 of 20."


def test_what_forms_is_named_at_its_line():
    fig = pictures.draw_forming({"looks back": [0, 0.5, 1], "right": [0.25, 0.3, 1]}, [0, 5, 10], 0.25)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
    assert list(lines["looks back"]) == [0, 0.5, 1] and fig.axes[0].get_xlim() == (0, 10)
