"""The end-to-end memory network written a second time, word by word and slot by slot."""

import torch
from reference.plain_loops import softmax


def sentence(table, ids, weights):
    """The sum of the words' vectors, each component weighted by its place; 0 is no word."""
    return sum((table[word] * row for word, row in zip(ids, weights, strict=False)), torch.zeros_like(table[0]))


def answer(tables, story, question, weights, linear):
    """Logits (V,) and what each hop reads (K, M), of one story (M, J) and question (J - 1,) as lists."""
    u, read = sentence(tables[0], question, weights), []
    for hop in range(len(tables) - 1):
        keys = [sentence(tables[hop], line, weights) for line in story]
        values = [sentence(tables[hop + 1], line, weights) for line in story]
        scores = torch.stack([key @ u for key in keys])
        read.append(scores if linear else softmax(scores))
        u = u + sum(p * value for p, value in zip(read[-1], values, strict=True))
    return tables[-1] @ u, torch.stack(read)
