"""A pair of texts as BERT reads it."""

from rtx_lib.tasks.bert_data import join_pair


def test_a_pair_by_hand() -> None:
    assert join_pair([7, 8], [9], cls=2, sep=3) == ([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1])
