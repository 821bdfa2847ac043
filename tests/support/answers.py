"""How checks of exercises are tested: a table of right answers, and one of slips with words of the message."""

import pytest


def rows(table):
    """Parameters ``check, answer, words`` out of ``{check: [(answer, words), ...]}``, which may be a mapping too."""
    pairs = {check: answers.items() if isinstance(answers, dict) else answers for check, answers in table.items()}
    flat = [(check, answer, words) for check, own in pairs.items() for answer, words in own]
    ids = [f"{check.__name__}: {words}" for check, _, words in flat]
    return pytest.mark.parametrize(("check", "answer", "words"), flat, ids=ids)


def chapter(right, slips):
    """The tests of a chapter: it takes right answers and None, it names each slip, and refuses a stub by its words."""

    @rows(right)
    def is_right(check, answer, words, capsys):
        check(answer)
        assert words in capsys.readouterr().out
        check(None)
        assert capsys.readouterr().out == "Not answered yet.\n"

    @rows(slips)
    def is_named(check, answer, words):
        with pytest.raises(AssertionError, match=words):
            check(answer)

    @pytest.mark.parametrize("check", [check for check, answers in right.items() if callable(answers[0][0])])
    def is_a_stub(check):
        with pytest.raises((AssertionError, TypeError), match=r"must return|nothing was changed|[Ee]llipsis"):
            check(lambda *arguments: ...)

    return is_right, is_named, is_a_stub
