"""What a training step of the readers of sentences costs."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from rtx_book.bench.measuring import row, training_step
from rtx_book.runs.builders import MODELS
from rtx_book.runs.recipes import RECIPES
from rtx_lib.diagnostics.measuring import count_flops, measure
from rtx_lib.tasks import GeneratedSentiment
from rtx_lib.training import parameter_count

READERS = ("bilstm", "mean", "rnn", "convolution", "attention", "sinusoids", "shaw")


def sentiment(
    device: str = "cpu", batch: int = 64, longest: int = 40, vocabulary: int = 7143, rounds: int = 9
) -> list[dict[str, Any]]:
    """One training step of each reader of sentences, at the size that it has on SST-2, against the BiLSTM's.

    A step is the forward pass, the loss, the backward pass, the clipping and Adam, the table of the embeddings
    included, on sentences of random words: of 3 to ``longest`` of them, each length as likely, padded to one length.
    SST-2 has 108 such batches. As the models differ, there is no error. Besides the ratio a row has
    ``seconds_per_step``, ``flops_per_step`` (:func:`rtx_lib.diagnostics.measuring.count_flops`) and ``parameters``,
    embeddings not counted.
    """
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(3, longest + 1, (batch, 1), generator=generator)
    lengths[0] = longest
    x = torch.randint(2, vocabulary, (batch, longest), generator=generator)
    x *= torch.arange(longest) < lengths
    y = torch.randint(2, (batch,), generator=generator)
    made = {reader: _step(reader, vocabulary, (x.to(device), y.to(device)), device) for reader in READERS}
    steps = {reader: step for reader, (step, _) in made.items()}
    seconds, rows = measure(steps, rounds, device=device), []
    for reader, (step, parameters) in made.items():
        costs = {"seconds_per_step": float(f"{seconds[reader]:.4g}"), "flops_per_step": count_flops(step)}
        found = row("sentiment", reader, "bilstm", seconds["bilstm"] / seconds[reader], None, device, "ours")
        rows.append(found | costs | {"parameters": parameters})
    return rows


def _step(reader: str, vocabulary: int, batch: tuple[Tensor, Tensor], device: str) -> tuple[Callable[[], Tensor], int]:
    """A training step of one model, which can be made again and again, and its parameters."""
    recipe, task = RECIPES[f"sst2-{reader}"], GeneratedSentiment()  # whose loss is that of all sentences
    torch.manual_seed(0)
    model = MODELS[recipe.model](SimpleNamespace(vocabulary=vocabulary, output_size=2), **recipe.model_arguments)
    model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.lr)
    return training_step(model, task, optimizer, batch, recipe.clip), parameter_count(model)
