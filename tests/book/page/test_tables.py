"""The table that sorts: what it holds, what it is without a script, what it refuses. Clicks: tests/book/pages."""

import re

from rtx_book.page.tables import plain_table, sortable_table

ROWS = [["GRU", (0.5, "0.5 [0.4, 0.6]"), None], ["LSTM", None, ("record", "s0 <1>", "adding-gru")]]


def test_without_a_script_it_is_a_plain_table() -> None:
    text = sortable_table(["model", "MSE", "record"], ROWS, "Adding & more", note="a <b>note</b>").data
    assert "<caption>Adding &amp; more</caption>" in text and "<figcaption>a <b>note</b></figcaption>" in text
    heads = re.findall(r'<th scope="col" class="(\w+)" aria-sort="none"><button type="button">(\w+)', text)
    assert heads == [("text", "model"), ("number", "MSE"), ("text", "record")]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)[1:]]
    assert rows == [["GRU", "0.5 [0.4, 0.6]", "–"], ["LSTM", "–", '<span data-recipe="adding-gru">s0 &lt;1&gt;</span>']]
    assert re.findall(r'data-value="([^"]*)"', text) == ["GRU", "0.5", "LSTM", "record"]
    assert text.count('scope="row"') == 2 and 'tabindex="0"' in text
    assert "http" not in text and "<script" not in text and " id=" not in text


def test_kinds_of_columns() -> None:
    def kinds(*values: object) -> list[str]:
        text = sortable_table(["a"], [[value] for value in values], "t").data
        return re.findall(r'<th scope="col" class="(\w+)"', text)

    assert kinds(1, 2.5, None) == kinds(float("nan"), 1) == ["number"]
    assert kinds("1", 2) == kinds(None) == kinds() == ["text"]


def test_numbers_are_written_with_separators() -> None:
    """As beside them in the texts that a caller writes, with whole numbers in full."""
    given = [[1050], [1050.0], [1234567], [0.003], [999], [(1997, "1997")], [True]]
    cells = re.findall(r"<th scope=.row[^>]*>(.*?)</th>", sortable_table(["a"], given, "t").data)
    assert cells == ["1,050", "1,050", "1,234,567", "0.003", "999", "1997", "True"]


def test_the_column_that_the_reader_chooses_by_is_named_to_the_script() -> None:
    rows = [["GRU", "Copy & paste", 1], ["LSTM", (0, "Adding"), 2], ["GRU", (0, "Adding"), 3], ["RNN", None, 4]]
    text = sortable_table(["model", "task", "value"], rows, "t", choose="task").data
    assert 'data-choose="1"' in text and 'data-choose="null"' in sortable_table(["model"], [], "t").data


def test_a_plain_table_is_markdown() -> None:
    text = plain_table(["model", "value"], [("RNN", 1), ("GRU", "2.0")]).data
    assert text == "| model | value |\n| --- | --- |\n| RNN | 1 |\n| GRU | 2.0 |"
