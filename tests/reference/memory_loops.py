"""The end-to-end memory network written a second time, word by word and slot by slot, and files made from it."""

import torch
from reference.plain_loops import Parameters, softmax, write


def weight(j, k, words, width):
    """Of component k of word j, both from 1."""
    return 1 + 4 * (k - (width + 1) / 2) * (j - (words + 1) / 2) / (width * words)


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


def tell(generator, vocabulary, slots, words, count):
    """A story of so many sentences, as the files have it: a time word at the end of each, and empty slots."""
    draw = lambda low, high: int(torch.randint(low, high, (), generator=generator))  # noqa: E731
    story = []
    for i in range(slots):
        line = [draw(1, vocabulary) for _ in range(draw(1, words))] if i < count else []
        line += [0] * (words - 1 - len(line))
        story.append([*line, vocabulary + count - 1 - i if i < count else 0])
    asked = [draw(1, vocabulary) for _ in range(draw(1, words))]
    return story, asked + [0] * (words - 1 - len(asked)), draw(1, vocabulary)


def make_memory_network(
    path, *, seed=0, batch=2, vocabulary=7, slots=4, words=4, width=3, hops=2, bow=False, linear_start=False
):
    """Write a file of the family."""
    p = Parameters(seed=seed)
    tables = p.of("tables", hops + 1, vocabulary + slots, width)
    with torch.no_grad():
        tables[:, 0] = 0
    counts = [1 + (seed + b) % slots for b in range(batch)]
    told = [tell(p.generator, vocabulary, slots, words, count) for count in counts]
    weights = torch.tensor(
        [[1.0 if bow else weight(j, k, words, width) for k in range(1, width + 1)] for j in range(1, words + 1)],
        dtype=torch.double,
    )
    answers = [answer(tables, story, question, weights, linear_start) for story, question, _ in told]
    probabilities = torch.stack([softmax(logits) for logits, _ in answers])
    loss = -sum(row[target].log() for row, (*_, target) in zip(probabilities, told, strict=True))
    outcomes = {"attention": torch.stack([read for _, read in answers], dim=1), "probabilities": probabilities}
    outcomes |= {"loss": loss, "g/tables": torch.autograd.grad(loss, tables, retain_graph=True)[0]}
    outcomes |= {} if bow else {"position_encoding": weights}
    story, question, target = (torch.tensor(part) for part in zip(*told, strict=True))
    given = {"story": story, "question": question, "target": target, "sentences": torch.tensor(counts)}
    settings = {"vocabulary": vocabulary, "memory_size": slots, "bow": int(bow), "linear_start": int(linear_start)}
    return write(path, given, p, outcomes, **settings)
