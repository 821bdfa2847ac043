"""Recipes of two chapters: what has to wait for what, and reading without recurrence."""

from dataclasses import replace
from typing import Any

from . import attention
from .recipe import COSINE, Recipe, table

# --- binary addition: Neural GPU, GRU, QRNN

# Trained on sums of 1 to 8 bits, tested on longer ones and on one carry that travels. About 14,200 parameters each,
# equal within 2 %. 0.01 is the rate of each by the rule of the chapter on what returned (tuning.TUNED).
_ADDITION = COSINE | {"task": "binary-addition", "task_arguments": {"bits": 8}, "steps": 400, "batch_size": 32}
_LONGER = {f"{bits} bits": {"bits": bits} for bits in (16, 32, 64)}
_CARRIES = {f"carry through {places}": {"bits": places + 1, "carry": places} for places in (8, 16, 32)}
_ADDITION |= {"lr": 1e-2, "eval_every": 50, "eval_batches": 1, "elsewhere": _LONGER | _CARRIES}
_NEURAL_GPU = {"width": 3, "channels": 16}


def _adder(name: str, about: str, model: str, arguments: dict[str, Any]) -> Recipe:
    return Recipe(f"addition-{name}", f"{about} on binary addition", model, model_arguments=arguments, **_ADDITION)


# --- stories: memory networks

# 32,000 stories, with which the LSTM stays below 0.26; with three times as many it exceeds "named last".
_STORIES = COSINE | {"task": "stories", "steps": 1000, "batch_size": 32}
_MEMORY: dict[str, Any] = {"width": 20}
_LINEAR = {"linear_steps": 300}  # without softmax in the hops


def _story(
    kind: str, name: str, about: str, model: str, arguments: dict[str, Any], lr: float = 1e-2, **more: Any
) -> Recipe:
    """A model on one kind of stories; what does not read sentences has all words in a row."""
    settings = _STORIES | {"lr": lr, "model_arguments": arguments} | more
    task = {"kind": kind} | ({} if model == "memory-network" else {"flat": True})
    name = f"stories-{kind.replace(' ', '-')}-{name}"
    return Recipe(name, f"{about} on {kind}", model, task_arguments=task, **settings)


def _memory(kind: str, hops: int, *, linear: bool = True) -> Recipe:
    """A memory network, with linear start or without."""
    name = f"memory-{hops}" + ("" if linear else "-softmax")
    about = f"Memory network, {hops} {'hop' if hops == 1 else 'hops'}, {'with' if linear else 'without'} linear start,"
    lr, start = (1e-2, _LINEAR) if linear else (3e-2, {})
    return _story(kind, name, about, "memory-network", _MEMORY | {"hops": hops} | start, lr)


def _readers(kind: str) -> list[Recipe]:
    """What reads word by word, and what forgets the order."""
    lstm = {"hidden_size": 40, "backend": "torch", "forget_bias": 1.0}
    return [
        _story(kind, "lstm", "LSTM", "lstm", lstm, 3e-3, steps=3000),
        _story(kind, "bag", "Bag of words", "bag", {"hidden_size": 40}, 1e-1),
    ]


# --- sentiment

# Behind embeddings of width 64, the same in all: RNN 21,047 parameters, BiLSTM 21,170, convolution 20,981,
# self-attention 20,928, and Shaw's tables on top, 23,616. The mean of embeddings has its output layer alone, 130.
_READERS: dict[str, dict[str, Any]] = table("parallel")
"""Of each reader its name, its model and its rates."""

# Less than four passes over the 6,920 reviews, at most 15 s of a processor. The model tested is the one that errs least
# on the validation sentences.
_REVIEWS = COSINE | {"task": "sentiment", "steps": 400, "batch_size": 64, "warmup": 20, "eval_every": 50}
_REVIEWS |= {"keep_best": "error"}
_SENTENCES: dict[str, Any] = {
    "sst2": ("SST-2", 0.5, _REVIEWS),
    "sentences": ("generated sentences", 0.0, _REVIEWS | {"task": "generated-sentiment"}),
}


def _reads(data: str) -> list[Recipe]:
    on, dropout, how = _SENTENCES[data]
    return [
        Recipe(
            f"{data}-{reader}",
            f"{own['name']} on {on}",
            own["model"],
            lr=own[data],
            model_arguments={"width": 64, "dropout": dropout} | own["arguments"],
            **how,
        )
        for reader, own in _READERS.items()
        if data in own
    ]


# --- number words: ByteNet and ConvS2S


def _digits_of(model: str, about: str, lr: float, **arguments: Any) -> Recipe:
    """English number words to digits as in the chapter on attention: only the model and its rate are others."""
    like = next(recipe for recipe in attention.RECIPES if recipe.name == "numbers-additive")
    about = f"{about} from number words to digits"
    return replace(like, name=f"numbers-{model}", about=about, model=model, lr=lr, model_arguments=arguments)


RECIPES: list[Recipe] = [
    _adder("neural-gpu", "Neural GPU", "neural-gpu", _NEURAL_GPU),
    _adder("neural-gpu-dropout", "Neural GPU with dropout", "neural-gpu", _NEURAL_GPU | {"dropout": 0.1}),
    _adder("gru", "GRU", "gru", {"hidden_size": 65, "backend": "torch"}),
    _adder("qrnn", "QRNN of two layers", "qrnn", {"hidden_size": 46, "num_layers": 2}),
    *(_memory("two facts", hops, linear=False) for hops in (1, 2)),
    *(_memory("two facts", hops) for hops in (2, 3)),
    _memory("one fact", 1, linear=False),
    _memory("deduction", 2),
    *(recipe for kind in ("one fact", "two facts", "deduction") for recipe in _readers(kind)),
    *_reads("sst2"),
    *_reads("sentences"),
    # 101,462 and 98,828 parameters outside the tables, where numbers-additive has 100,622.
    _digits_of("bytenet", "ByteNet", 1e-2, width=72),
    _digits_of("convs2s", "ConvS2S", 1e-2, width=40, encoder=[[40, 3]] * 4, decoder=[[40, 3]] * 4, length=128),
]

ADDERS = [recipe for recipe in RECIPES if recipe.name.startswith("addition-")]
# Stories about one fact, and deductions, have the rate of the same model on two facts.
TUNED = [r for r in RECIPES if r not in ADDERS and not r.name.startswith(("stories-one", "stories-deduction"))]
