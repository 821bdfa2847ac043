"""The checks accept the right answer, and name each planted slip."""

import copy

import pytest
import torch
import torch.nn.functional as F
from support.answers import chapter
from support.small_transformers import small_xl

from rtx_book.checks import transformer_xl as checks
from rtx_lib.layers.positions import relative_shift
from rtx_lib.models.transformer_xl import TransformerXL


def by_view(x, front=1, back=0, rows=slice(1, None)):
    T, S = x.shape[-2:]
    return F.pad(x, (front, back)).reshape(*x.shape[:-2], S + 1, T)[..., rows, :].reshape(x.shape)


def by_roll(places):
    def shift(x):
        T = x.shape[-2]
        return torch.stack([x[..., i, :].roll(places(i, T), -1) for i in range(T)], dim=-2)

    return shift


def without_memory(x):
    T, S = x.shape[-2:]
    return F.pad(x, (1, 0)).view(*x.shape[:-2], T + 1, S)[..., 1:, :]


def cat(memory, h):
    return h if memory is None else torch.cat([memory, h], dim=1)


def last(memory, h, length):
    both = cat(memory, h)
    return both[:, max(both.shape[1] - length, 0) :].detach()


def window(first, end=lambda i, T: i, offset=lambda past: past):
    def mask(T, past, length):
        i, j = torch.arange(T)[:, None], torch.arange(past + T) - offset(past)
        return (first(i, past, length) < j) & (j <= end(i, T))

    return mask


visible = window(lambda i, past, length: i - length)


def by_steps(n, M, T):
    p = T - 1
    for _ in range(n):
        p = p // T * T - M
    return T - 1 - p


TRUE = {statement: truth for statement, (truth, _) in checks.BORDER.items()}


def border():
    """What is true of each statement of ``BORDER``, tried with autograd on a small model and two segments."""
    generator = torch.Generator().manual_seed(10)
    model = TransformerXL(3, 2, width=4, heads=2, layers=1, memory=3).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(generator=generator)
        for parameter in model.embedding.parameters():
            parameter[0] = 0  # feature 0 of what the layer reads: never from the segment
    earlier = copy.deepcopy(model)  # the same weights, with gradients of their own: those that segment 1 used
    first, second = torch.randn(2, 1, 3, 3, generator=generator, dtype=torch.float64)
    first.requires_grad_()
    output, state = earlier(first)
    own = reaches(output, first)
    used = list(earlier.blocks.parameters())
    after, _ = model(second, state)
    changed, _ = model(second, earlier(first + 1)[1])
    # A memory of feature 0 alone: whatever reaches this feature's column of W_k came through it.
    marked = tuple(torch.eye(4, dtype=torch.float64)[0] * memory[..., 1:2] for memory in state)
    weight = model.get_parameter("blocks.0.attention.in_proj_weight")
    (gradient,) = torch.autograd.grad(model(second, marked)[0].square().sum(), weight)
    size = len(weight) // 3  # W_q, W_k and W_v lie on top of each other
    slopes = bool(gradient[size : 2 * size, 0].any()), any(reaches(after, parameter) for parameter in used)
    facts = (not torch.equal(after, changed), own, reaches(after, first), *slopes)
    return dict(zip(checks.BORDER, facts, strict=True))


def reaches(output, source):
    (gradient,) = torch.autograd.grad(output.square().sum(), source, retain_graph=True, allow_unused=True)
    return gradient is not None and bool(gradient.any())


@pytest.mark.parametrize("layers, memory, length", [(1, 4, 4), (2, 3, 3), (3, 0, 4), (3, 2, 4), (2, 5, 3), (3, 1, 3)])
def test_reach_is_that_of_a_model(layers, memory, length):
    """Other inputs up to some position: the last output changes where the position is within reach, and not before."""
    model = small_xl(memory=memory, layers=layers, vocabulary=None).double()
    segments = 2 + layers * (1 + memory // length)
    x = torch.randn(1, segments * length, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def output(x):
        state = None
        for piece in x.split(length, 1):
            y, state = model(piece, state)
        return y[0, -1]

    furthest = x.shape[1] - 1 - checks.reach(layers, memory, length)
    assert furthest > length  # so that nothing is cut off by the start of the text
    for end, depends in ((furthest, False), (furthest + 1, True)):
        changed = torch.cat([x[:, :end] + 1, x[:, end:]], dim=1)
        assert torch.equal(output(changed), output(x)) is not depends


@pytest.mark.parametrize("statement", checks.BORDER)
def test_border_statements(statement, capsys):
    assert border() == TRUE
    for said, words in (
        ({statement: not TRUE[statement]}, f"is {TRUE[statement]}: {checks.BORDER[statement][1][:20]}"),
        ({statement: "yes"}, "must be answered by True or False, got 'yes'"),
        ({"gradient": True}, "'gradient' is none of the statements"),
    ):
        with pytest.raises(AssertionError, match=words):
            checks.check_border_gradient(TRUE | said)
    checks.check_border_gradient(dict.fromkeys(checks.BORDER))
    checks.check_border_gradient({statement: TRUE[statement]})
    assert capsys.readouterr().out == "Not answered yet.\nRight so far; 4 not answered yet.\n"


RIGHT = {
    checks.check_shift: [
        (relative_shift, "Right: row i"),
        (by_view, "Right: row i"),
        (by_roll(lambda i, T: i + 1 - T), "Right: row i"),
    ],
    checks.check_reach: [
        (by_steps, "Right: from its place"),
        (lambda n, M, T: T - 1 + M + (n - 1) * -(-M // T) * T, "Right: from its place"),
    ],
}
SLIPS = {
    checks.check_shift: [
        (lambda x: x, "nothing has moved"),
        (
            lambda x: by_roll(lambda i, T: i + 1 - T)(x).flip(-1),
            r"^T = 4, S = 4; .*: the entry \[0, 0, 0, 0\] must be 100, it is 101",
        ),
        (lambda x: by_roll(lambda i, T: i + 1 - T)(x.flip(-1)), "read as distances"),
        (by_roll(lambda i, T: T - 1 - i), "the wrong way"),
        (by_roll(lambda i, T: -i), "row i moves i places: it is the last"),
        (by_roll(lambda i, T: i), "and to the right"),
        (by_roll(lambda i, T: i + 2 - T), "one place too few"),
        (by_roll(lambda i, T: i - T), "one place too many"),
        (by_roll(lambda i, T: 1 - T), "all rows move by the same"),
        (lambda x: by_view(x, rows=slice(None, -1)), "it is the first, which holds"),
        (lambda x: by_view(x, 0, 1), "zeros are put at the end: "),
        (lambda x: by_view(x, 0, 1, slice(None, -1)), "zeros are put at the end, and"),
        (without_memory, "^T = 4, S = 7; .*: torch says"),
        (lambda x: by_view(x[0, 0]).expand(x.shape), r"the entry \[0, 1, 0, 0\] must be 1100, it is 100"),
    ],
    checks.check_update_memory: [
        (lambda m, h, n: cat(m, h)[:, max(cat(m, h).shape[1] - n, 0) :], "a gradient goes back"),
        (lambda m, h, n: last(m, h.detach_(), n), "cuts h itself"),
        (lambda m, h, n: cat(m, h)[:, -n:].detach(), "-0 is 0"),
        (lambda m, h, n: F.pad(last(m, h, n), (0, 0, max(0, n - cat(m, h).shape[1]), 0)), "without filling up"),
        (lambda m, h, n: (last(m, h, n), m is None or m.zero_())[0], "has changed"),
        (lambda m, h, n: cat(m, h).detach() if n else h[:, :0].detach(), "would grow"),
        (lambda m, h, n: last(None, h, n), "only the new segment"),
        (lambda m, h, n: last(h if m is None else m, h[:, :0], n), "this is the old memory"),
        (lambda m, h, n: cat(m, h)[:, :n].detach(), "the first positions"),
        (lambda m, h, n: last(h, h[:, :0] if m is None else m, n), "in front of the old"),
        (lambda m, h, n: (h if m is None else torch.cat([h, m], 1))[:, :n].detach(), "and the first are kept"),
        (lambda m, h, n: last(m, h, n).flip(1), "backwards"),
        (lambda m, h, n: torch.cat([m, h], 1)[:, max(m.shape[1] + h.shape[1] - n, 0) :].detach(), "memory is None"),
    ],
    checks.check_same_length_mask: [
        (lambda T, past, length: ~visible(T, past, length), "not for one that is hidden"),
        (window(lambda i, past, n: i - n - 1), "length \\+ 1 keys"),
        (window(lambda i, past, n: i - n + 1), "length - 1 keys"),
        (window(lambda i, past, n: i - n - 1, lambda i, T: i - 1), "does not see itself"),
        (window(lambda i, past, n: i - n, lambda i, T: i - 1), "and one key is missing"),
        (window(lambda i, past, n: i - n, lambda i, T: T), "the future"),
        (window(lambda i, past, n: 0 * i - 99), "causal mask"),
        (window(lambda i, past, n: i - past), "while the memory fills"),
        (window(lambda i, past, n: i - past - 1), "and is one too many"),
        (window(lambda i, past, n: i - n, offset=lambda past: 0), "as if no memory"),
        (window(lambda i, past, n: 0 * i - n), "begin at the same key"),
        (window(lambda i, past, n: 0 * i - n - 1), "only the memory is cut"),
        (lambda T, past, length: visible(T, past, length).double(), "must be bool"),
    ],
    checks.check_reach: [
        (lambda n, M, T: by_steps(n, M, T) + 1, "counts positions"),
        (lambda n, M, T: by_steps(n + 1, M, T), "too many"),
        (lambda n, M, T: by_steps(n - 1, M, T), "too few"),
        (lambda n, M, T: n * T, "whatever the segment's length"),
        (lambda n, M, T: n * T + T - 1, "comes on top"),
        (lambda n, M, T: by_steps(n, M, T) - T + 1, "the segment itself counts too: "),
        (lambda n, M, T: n * M, "and one memory for each layer"),
        (lambda n, M, T: M + T - 1, "reach of one layer"),
        (lambda n, M, T: n * (M + T - 1), "adds the segment again"),
        (lambda n, M, T: n * M + T - 1, "right for a memory of whole segments; else its oldest row"),
        (lambda n, M, T: 7, "^7 for 2, 4, 4 is not right"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)
