"""The checks accept the right answer, and name each planted slip."""

from support.answers import chapter

from rtx_book.checks import parallel as checks


def compose(second, first):
    return second[0] * first[0], second[0] * first[1] + second[1]


SLIPS = {
    checks.check_compose: [
        (lambda second, first: compose(first, second), "first after second"),
        (lambda second, first: (second[0] * first[0], first[1] + second[1]), "multiplied by a2"),
        (lambda second, first: (second[0] + first[0], compose(second, first)[1]), "the factors multiply"),
        (lambda second, first: second, "second step alone"),
        (lambda second, first: second[0], "must return a pair"),
    ]
}

test_slips, test_stubs = chapter(SLIPS)
