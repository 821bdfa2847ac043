"""GPT's input transformations, by hand."""

from support.helpers import refusals

from rtx_lib.tasks.gpt_inputs import GPTInputs

START, DELIMITER, EXTRACT = 20, 21, 22


def inputs(**how) -> GPTInputs:
    return GPTInputs(**{"start": START, "delimiter": DELIMITER, "extract": EXTRACT, "size": 23, "length": 8} | how)


def test_every_task_by_hand() -> None:
    make = inputs()
    assert make.classification([5, 6]) == [START, 5, 6, EXTRACT]
    assert make.entailment([5, 6], [7]) == [START, 5, 6, DELIMITER, 7, EXTRACT]
    assert make.similarity([5, 6], [7]) == ([20, 5, 6, 21, 7, 22], [20, 7, 21, 5, 6, 22])
    assert make.multiple_choice([5], [[6], [7, 8]]) == [[20, 5, 21, 6, 22], [20, 5, 21, 7, 8, 22]]


test_what_is_not_allowed = refusals(
    [
        (lambda: inputs(extract=23), "start, delimiter and extract must hold ids from 0 to 22, got 23"),
        (lambda: inputs(delimiter=START), "start, delimiter and extract must differ from each other"),
        (lambda: inputs(length=5).entailment([5, 6], [7]), "length of text with its special tokens must be at least 1"),
        (lambda: inputs().entailment([5], []), "text must hold ids of shape"),
        (lambda: inputs().classification([23]), "text must hold ids from 0 to 22, got 23"),
        (lambda: inputs().classification([5, EXTRACT]), "text must hold no special tokens, which are set here, got 22"),
    ],
    plain=True,
)
