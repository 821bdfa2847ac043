"""Recipes of the chapters on pre-training: language models of free texts, and what is fine-tuned from their weights."""

from typing import Any

from .recipe import COSINE, Recipe

# --- pre-training

# Texts whose licences allow their weights to be shared; no sentence of the sets on which anything is tested later.
TEXTS = ["masc", "wikitext2", "ud_ewt"]
HELD_OUT = ["subj", "sst2", "trec", "interest", "ud_ewt"]
_TEXT: dict[str, Any] = {"sources": TEXTS, "without": HELD_OUT, "length": 40, "size": 4000}
_BERT: dict[str, Any] = {"width": 96, "heads": 4, "layers": 2, "inner": 192, "length": 40, "segments": 1}
_MASKED = COSINE | {"batch_size": 32, "warmup": 200, "weight_decay": 0.01, "eval_every": 250, "eval_batches": 4}
_MASKED |= {"model": "bert", "task": "masked-text", "floor": 0.05}

_BERT_SMALL = Recipe(
    "bert-small",
    "BERT of two blocks on masked words",
    steps=7_000,
    lr=2e-3,
    model_arguments=_BERT | {"start": "word2vec"},
    task_arguments=_TEXT | {"share": 0.3, "places": True},
    **_MASKED,
)

PRETRAINED: list[Recipe] = [_BERT_SMALL]

RECIPES: list[Recipe] = [*PRETRAINED]
