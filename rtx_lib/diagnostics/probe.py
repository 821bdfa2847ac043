"""What can be read off a model's states by a linear map (Alain and Bengio 2016), or off vectors by their neighbours."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each, expect_ids


def linear_probe(states: Tensor, target: Tensor) -> float:
    """Mean distance between a number and its best linear guess from a state.

    The map is fitted to the first half of the sequences by least squares, in double precision, and tested on the
    others.

    Parameters
    ----------
    states
        (B, T, D), B at least 2.
    target
        (T,), the number to guess at each step, the same in all sequences.
    """
    expect_each(**{"sequences of states": (len(expect(states, "B T D", "states")), 2)})
    expect(target, states.shape[1:2], "target")
    states = states.detach().cpu().double()
    states = torch.cat([states, torch.ones_like(states[..., :1])], dim=-1)  # and a bias
    numbers, half = target.cpu().double(), len(states) // 2
    fitted = torch.linalg.lstsq(states[:half].flatten(0, 1), numbers.repeat(half)[:, None]).solution
    return float((states[half:] @ fitted - numbers[:, None]).abs().mean())


def class_probe(x: Tensor, y: Tensor, test_x: Tensor, test_y: Tensor, *, penalty: float = 0.1) -> float:
    """The share of test rows whose class is named right by logistic regression on the training rows.

    Weights W and biases b are those of the least

        sum_i -log softmax(W x_i + b)[y_i] + penalty / 2 sum W^2,

    which is unique in what it predicts. Before that, the mean of the training rows is taken away from all rows, and all
    are divided by one number that makes the mean squared length of training rows 1, so that a penalty means the same
    for features of any size and number. All in double precision.

    Parameters
    ----------
    x, test_x
        Features (N, D) and (M, D).
    y, test_y
        Classes (N,) and (M,), whole numbers from 0 on.
    penalty
        Above 0.
    """
    for name, rows, classes in (("x", x, y), ("test_x", test_x, test_y)):
        expect(rows, ("N", x.shape[-1]), name)
        expect_ids(expect(classes, rows.shape[:1], f"the classes of {name}")[None], None, f"the classes of {name}")
    expect_each(penalty=(penalty, "(0, inf)"))
    from sklearn.linear_model import LogisticRegression  # here, because the import takes long

    x, test_x, y, test_y = (part.detach().cpu() for part in (x.double(), test_x.double(), y.long(), test_y.long()))
    mean = x.mean(0)
    scale = (x - mean).square().sum(1).mean().sqrt().clamp(min=1e-12)
    # Of two classes they penalise one vector, the difference of the two of W, which is twice as long.
    weight = (2 if len(y.unique()) == 2 else 1) / penalty
    regression = LogisticRegression(C=weight, tol=1e-8, max_iter=5000).fit(((x - mean) / scale).numpy(), y.numpy())
    return float(regression.score(((test_x - mean) / scale).numpy(), test_y.numpy()))


def layer_probes(layers: Callable[[Tensor], Sequence[Tensor]], task: Any, *, penalty: float = 0.1) -> list[float]:
    """For each layer of a model the share of a task's test labels that :func:`class_probe` reads off its states.

    Parameters
    ----------
    layers
        From ids (B, T) to the layers' states, each (B, T, D).
    task
        With a label at every position, -100 where none counts, such as
        :class:`rtx_lib.tasks.tagging.PartsOfSpeech`. All of "train" is read, and all of "test".
    penalty
        As in :func:`class_probe`.
    """
    states: dict[str, list[Tensor]] = {}
    labels: dict[str, Tensor] = {}
    for split in ("train", "test"):
        found = [([h.detach()[y >= 0] for h in layers(x)], y[y >= 0]) for x, y in task.batches(split, 250)]
        states[split] = [torch.cat(parts) for parts in zip(*(own for own, _ in found), strict=True)]
        labels[split] = torch.cat([marked for _, marked in found])
    pairs = zip(states["train"], states["test"], strict=True)
    return [class_probe(x, labels["train"], test_x, labels["test"], penalty=penalty) for x, test_x in pairs]


def neighbours(vectors: Tensor, labels: Any, *, first: int = 0, count: int = 10, least: int = 5) -> dict[str, float]:
    """How many of a word's nearest neighbours mostly have its own label, and how many of all words: mean shares.

    Parameters
    ----------
    vectors
        (V, D), one for each id; the nearest are those of the largest cosine.
    labels
        A task that labels words, such as :class:`rtx_lib.tasks.tagging.PartsOfSpeech`; all of "train" is read.
    first
        The least id of a word; those below are signs.
    count, least
        Of the nearest, and of the labels that a word must have to count at all.

    Returns
    -------
    dict
        {"accuracy": the share of its nearest, "share of all": that of all other words}.
    """
    pairs = [torch.stack([x, y])[:, (y >= 0) & (x >= first)] for x, y in labels.batches("train", 500)]
    times = torch.zeros(len(vectors), labels.output_size)
    times.index_put_((*torch.cat(pairs, dim=1),), torch.ones(()), accumulate=True)
    known = times.sum(1) >= least
    expect_each(count=count, **{"words with labels": (int(known.sum()), count + 1)})
    unit, usual = F.normalize(vectors.detach()[known], dim=1), times[known].argmax(1)
    near = (unit @ unit.T).fill_diagonal_(-2).topk(count).indices
    same = (usual[:, None] == usual).double().fill_diagonal_(0)
    share, every = same.gather(1, near).mean(), same.sum() / (same.numel() - len(same))
    return {"accuracy": share.item(), "share of all": every.item()}
