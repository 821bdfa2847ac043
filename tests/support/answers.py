"""How checks of exercises are tested: a table of right answers, and one of slips with words of the message."""

import pytest


def rows(table):
    """Parameters ``check, answer, words`` out of ``{check: [(answer, words), ...]}``."""
    return pytest.mark.parametrize(
        ("check", "answer", "words"),
        [
            pytest.param(check, answer, words, id=f"{check.__name__}: {words}")
            for check, answers in table.items()
            for answer, words in answers
        ],
    )


def is_right(check, answer, words, capsys):
    """The check takes the answer, and None for no answer yet."""
    check(answer)
    assert words in capsys.readouterr().out
    check(None)
    assert capsys.readouterr().out == "Not answered yet.\n"


def is_named(check, answer, words):
    """The check refuses the answer, and its message names the slip."""
    with pytest.raises(AssertionError, match=words):
        check(answer)
