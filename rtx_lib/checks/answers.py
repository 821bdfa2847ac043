"""What the checks of all chapters share: an answer that is not there yet, and one that is compared with slips."""

from torch import Tensor


def unanswered(answer: object) -> bool:
    """Whether the answer is None; says so."""
    if answer is None:
        print("Not answered yet.")
    return answer is None


def compare(given: object, right: Tensor, slips: dict[str, Tensor], tolerance: float = 1e-10) -> None:
    """Return if the right result was given, to within ``tolerance`` in every entry.

    Parameters
    ----------
    given
        What the reader's function returned.
    right
        What it must return.
    slips
        What it returns after a usual slip, by the message that names the slip.

    Raises
    ------
    AssertionError
        With the message of the slip whose result was given, or a plain one.
    """
    assert isinstance(given, Tensor), f"the function must return a tensor, it returned {type(given).__name__}"
    assert given.shape == right.shape, f"the shape must be {tuple(right.shape)}, it is {tuple(given.shape)}"
    assert given.isfinite().all(), "the result holds numbers that are not finite"
    if (given - right).abs().max() < tolerance:
        return
    for message, wrong in slips.items():
        assert (given - wrong).abs().max() > tolerance, message
    raise AssertionError(f"off by {(given - right).abs().max().item():.3g}, by none of the usual slips")
