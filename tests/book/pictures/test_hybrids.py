"""The figures of the chapter on hybrids draw what they are given."""

from rtx_book.pictures import hybrids as pictures


def test_a_share_has_its_interval_and_its_steps():
    rows = {"one → two": [(18, 20, (0.7, 0.98), 300), (0, 20, (0, 0.2), None)]}
    rows["two → one"] = [(20, 20, (0.8, 1), 1200), (5, 10, (0.2, 0.8), 250)]
    fig = pictures.draw_stacks(rows, ["track", "look up"])
    interval, share = fig.axes[0].get_lines()[:2]
    assert share.get_xdata() == [0.9] and list(interval.get_xdata()) == [0.7, 0.98]
    assert [text.get_text() for text in fig.axes[0].texts] == ["300", "1,200"]
    assert [text.get_text() for text in fig.axes[1].texts] == ["–", "250"]
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == list(rows)
    assert pictures.describe_stacks(rows, ["track", "look up"]) == (
        "one → two: track 18 of 20, look up 0 of 20; two → one: track 20 of 20, look up 5 of 10."
    )


def test_what_forms_is_named_at_its_line():
    fig = pictures.draw_forming({"looks back": [0, 0.5, 1], "right": [0.25, 0.3, 1]}, [0, 5, 10], 0.25)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[0].get_lines()}
    assert list(lines["looks back"]) == [0, 0.5, 1] and fig.axes[0].get_xlim() == (0, 10)
