"""How checks of exercises are tested: a table of right answers, and one of slips with words of the message."""

import pytest


def rows(table):
    """Parameters ``check, answer, words`` out of ``{check: [(answer, words), ...]}``."""
    flat = [(check, answer, words) for check, own in table.items() for answer, words in own]
    ids = [f"{check.__name__}: {words}" for check, _, words in flat]
    return pytest.mark.parametrize(("check", "answer", "words"), flat, ids=ids)


def chapter(slips, right=None):
    """The tests of a chapter: it names each slip, and refuses a stub by its words.

    A third one where there are right answers beside those that its solutions and notebook show: they are accepted.
    """

    @rows(slips)
    def is_named(check, answer, words):
        with pytest.raises(AssertionError, match=words):
            check(answer)

    @pytest.mark.parametrize("check", [check for check, answers in slips.items() if callable(answers[0][0])])
    def is_a_stub(check):
        with pytest.raises((AssertionError, TypeError), match=r"must return|nothing was changed|[Ee]llipsis"):
            check(lambda *arguments: ...)

    @rows(right or {})
    def is_right(check, answer, words, capsys):
        check(answer)
        assert words in capsys.readouterr().out

    return (is_named, is_a_stub, is_right) if right else (is_named, is_a_stub)
