"""What a training step of the models of the race, and of the readers of sentences, costs."""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from rtx_book.bench.measuring import row, training_step
from rtx_book.runs import build
from rtx_book.runs.builders import MODELS
from rtx_book.runs.recipes import RECIPES, Recipe
from rtx_book.runs.recipes import race as recipes
from rtx_lib.diagnostics.measuring import count_flops, measure
from rtx_lib.tasks import GeneratedSentiment, available
from rtx_lib.training import parameter_count
from rtx_lib.training.checkpoints import move

READERS = ("bilstm", "mean", "rnn", "convolution", "attention", "sinusoids", "shaw")
_FILES = {"text": "shakespeare", "stream": "shakespeare", "chorales": "music"}  # the data of the tasks that need some

Made = tuple[nn.Module, Callable[[], Tensor]]
"""A model and its training step: forward pass, loss, backward pass, clipping and Adam."""


def race(
    device: str = "cpu", tasks: Iterable[str] = recipes.TASKS, lanes: Collection[str] = recipes.LANES, rounds: int = 9
) -> list[dict[str, Any]]:
    """One training step of each model of the race, at its own size, against the Transformer's on the same task.

    On "stream", where no Transformer runs, it is against the GRU's.

    A step takes a batch of 32 as in the race. Of nine batches it is the one of middle length, the same for all. A model
    that reads streams has the state of the piece before.

    A task whose data are not in the cache is left out, and a line on standard error says so. The lanes must hold those
    with which all are compared.
    """
    rows = []
    for task in tasks:
        if task in _FILES and not available(_FILES[task]):
            print(f"race: {task} is left out: its data are not in the cache (RTX_DATA)", file=sys.stderr)
            continue
        own = [lane for lane in lanes if recipes.runs_on(task, lane)]
        made = {lane: _made_by(recipes.race(task, lane, 1e-3), device) for lane in own}
        against = "transformer" if recipes.runs_on(task, "transformer") else "gru"
        rows += _costs(f"race-{task}", made, against, rounds, device)
    return rows


def sentiment(
    device: str = "cpu", batch: int = 64, longest: int = 40, vocabulary: int = 7143, rounds: int = 9
) -> list[dict[str, Any]]:
    """One training step of each reader of sentences, at the size that it has on SST-2, against the BiLSTM's.

    The table of the embeddings takes part. The sentences are random words, of 3 to ``longest`` of them, each length as
    likely, padded to one length. SST-2 has 108 such batches.
    """
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(3, longest + 1, (batch, 1), generator=generator)
    lengths[0] = longest
    x = torch.randint(2, vocabulary, (batch, longest), generator=generator)
    x *= torch.arange(longest) < lengths
    y = torch.randint(2, (batch,), generator=generator)
    made = {}
    for reader in READERS:
        recipe, task = RECIPES[f"sst2-{reader}"], GeneratedSentiment()  # whose loss is that of all sentences
        torch.manual_seed(0)
        model = MODELS[recipe.model](SimpleNamespace(vocabulary=vocabulary, output_size=2), **recipe.model_arguments)
        made[reader] = _made(model, task, recipe, (x, y), device)
    return _costs("sentiment", made, "bilstm", rounds, device)


def told(device: str = "cpu", rounds: int = 9) -> list[dict[str, Any]]:
    """One training step of the language models that are told something, as recorded.

    Of a topic, against the RNN that is told nothing; of a picture, against the LSTM that is told once.
    """
    rows = []
    for what, start, against in (("topic", "topics-pydoc-", "rnn"), ("picture", "scenes-", "first")):
        own = {name.removeprefix(start): recipe for name, recipe in RECIPES.items() if name.startswith(start)}
        made = {name: _made_by(recipe, device) for name, recipe in own.items()}
        rows += _costs(f"told-{what}", made, against, rounds, device)
    return rows


def _costs(case: str, made: Mapping[str, Made], against: str, rounds: int, device: str) -> list[dict[str, Any]]:
    """A row for each model. As the models differ, there is no error.

    Besides the ratio a row has ``seconds_per_step``, ``flops_per_step``
    (:func:`rtx_lib.diagnostics.measuring.count_flops`) and ``parameters``, embeddings not counted.
    """
    flops = {name: count_flops(step) for name, (_, step) in made.items()}
    seconds = measure({name: step for name, (_, step) in made.items()}, rounds, device=device)
    rows = []
    for name, (model, _) in made.items():
        costs = {"seconds_per_step": float(f"{seconds[name]:.4g}"), "flops_per_step": flops[name]}
        found = row(case, name, against, seconds[against] / seconds[name], None, device, "ours")
        rows.append(found | costs | {"parameters": parameter_count(model)})
    return rows


def _made_by(recipe: Recipe, device: str) -> Made:
    model, task = build(recipe, seed=0)
    state = None
    if recipe.stream_length:
        stream = task.stream("train", recipe.batch_size, recipe.stream_length)
        (before, _), batch = next(stream), next(stream)
        with torch.no_grad():
            state = model.to(device).train()(move(before, device))[1]
    else:
        generator = torch.Generator().manual_seed(0)
        batches = [task.batch("train", recipe.batch_size, generator) for _ in range(9)]
        read = [batch[0] if isinstance(batch[0], Tensor) else batch[0][1] for batch in batches]  # of a pair, the words
        batch = batches[sorted(range(9), key=lambda at: read[at].shape[1])[4]]
    return _made(model, task, recipe, batch, device, state)


def _made(model: Any, task: Any, recipe: Recipe, batch: tuple[Any, Tensor], device: str, state: Any = None) -> Made:
    """The model with a training step that can be made again and again."""
    model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.lr)
    batch = move(batch[0], device), batch[1].to(device)
    return model, training_step(model, task, optimizer, batch, recipe.clip, state)
