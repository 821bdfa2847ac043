"""word2vec and the optimisers of BERT and GPT written a second time, number by number, and files made from them."""

import math
import random

import numpy as np


def sigmoid(a):
    return 1 / (1 + math.exp(-a))


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def item(v, tables, scored):
    """The loss of one vector v against words as (word, label 1 or 0), its gradient and those of the words' vectors."""
    loss, of_v, of_words = 0.0, [0.0] * len(v), []
    for word, label in scored:
        p = sigmoid(dot(v, tables[word]))
        loss -= math.log(p if label else 1 - p)
        of_v = [total + (p - label) * number for total, number in zip(of_v, tables[word], strict=True)]
        of_words.append((word, [(p - label) * number for number in v]))
    return loss, of_v, of_words


def mean(vectors):
    return [sum(numbers) / len(vectors) for numbers in zip(*vectors, strict=True)]


def add(table, row, vector, factor=1.0):
    for k, number in enumerate(vector):
        table[row][k] += factor * number


def zeros(vocabulary, width):
    return [[0.0] * width for _ in range(vocabulary)]


def walk(w_in, w_out, items, lr):
    """The authors' updates, one word after the other, of (words, scored) items; the tables are changed."""
    for words, scored in items:
        v, error = mean([w_in[word] for word in words]), [0.0] * len(w_in[0])
        for word, label in scored:
            g = lr * (label - sigmoid(dot(v, w_out[word])))
            error = [total + g * number for total, number in zip(error, w_out[word], strict=True)]
            add(w_out, word, v, g)
        for word in words:
            add(w_in, word, error)


def gradients(w_in, w_out, items):
    """Loss of each item, and the gradients of their sum; of the input table also as the authors' code adds it."""
    size = len(w_in), len(w_in[0])
    losses, of_in, of_out, undivided = [], zeros(*size), zeros(*size), zeros(*size)
    for words, scored in items:
        loss, of_v, of_words = item(mean([w_in[word] for word in words]), w_out, scored)
        losses.append(loss)
        for word in words:
            add(of_in, word, of_v, 1 / len(words))
            add(undivided, word, of_v)
        for word, vector in of_words:
            add(of_out, word, vector)
    return losses, of_in, of_out, undivided


def make_word2vec(path, *, seed=0, vocabulary=6, width=3, pairs=4, negatives=2, contexts=3, lr=0.1, sample=0.02):
    """Write a file of the family; the names of its outcomes."""
    draw = random.Random(seed)
    w_in, w_out = ([[draw.gauss(0, 1) for _ in range(width)] for _ in range(vocabulary)] for _ in range(2))
    ids = lambda count: [draw.randrange(vocabulary) for _ in range(count)]  # noqa: E731
    noise = [ids(negatives) for _ in range(pairs)]
    center, context, target, around = ids(pairs), ids(pairs), ids(pairs), [ids(contexts) for _ in range(pairs)]
    scored = lambda right: [[(w, 1), *((n, 0) for n in row)] for w, row in zip(right, noise, strict=True)]  # noqa: E731
    skipgram = list(zip([[word] for word in center], scored(context), strict=True))
    cbow = list(zip(around, scored(target), strict=True))
    losses, of_in, of_out, _ = gradients(w_in, w_out, skipgram)
    outcomes = {"loss_per_pair": losses, "loss": sum(losses), "g/W_in": of_in, "g/W_out": of_out}
    losses, of_in, of_out, undivided = gradients(w_in, w_out, cbow)
    outcomes |= {"cbow_loss_per_item": losses, "cbow_g/W_in": of_in, "cbow_g/W_out": of_out}
    outcomes["cbow_g/W_in_ccode"] = undivided
    tables = [[row.copy() for row in table] for table in (w_in, w_out)]
    walk(*tables, skipgram, lr)
    outcomes |= {"seq_W_in": tables[0], "seq_W_out": tables[1]}
    counts = [draw.randrange(1, 1000) for _ in range(vocabulary)]
    raised, total = [count**0.75 for count in counts], sum(counts)
    upto = [sum(raised[: k + 1]) for k in range(vocabulary)]
    outcomes |= {"noise": [number / upto[-1] for number in raised]}
    outcomes["cum_table"] = [round(number / upto[-1] * (2**31 - 1)) for number in upto]
    shares = [sample * total / count for count in counts]
    outcomes |= {"keep_paper": [min(1.0, math.sqrt(share)) for share in shares]}
    outcomes["keep_code"] = [min(1.0, math.sqrt(share) + share) for share in shares]
    given = {"W_in": w_in, "W_out": w_out, "center": center, "context": context, "negatives": noise, "lr": lr}
    given |= {"cbow_context": around, "cbow_target": target, "counts": counts, "sample_t": sample}
    np.savez(path, **{name: np.array(value) for name, value in (given | outcomes).items()})
    return set(outcomes)


def make_rules(path, *, seed=0, size=3, updates=5, total=20, warmup=4, lr=0.1, betas=(0.8, 0.95), decay=0.1, eps=1e-3):
    """Write a file of the family; the names of its outcomes."""
    draw = random.Random(seed)
    start = [draw.gauss(0, 1) for _ in range(size)]
    grads = [[draw.gauss(0, 1) for _ in range(size)] for _ in range(updates)]
    (b1, b2), after = betas, {"bert": [], "gpt": [], "torch_adamw": []}
    for name, rows in after.items():
        p, m, v = start.copy(), [0.0] * size, [0.0] * size
        for t, grad in enumerate(grads, start=1):
            c1, c2 = 1 - b1**t, 1 - b2**t
            for k, g in enumerate(grad):
                m[k], v[k] = b1 * m[k] + (1 - b1) * g, b2 * v[k] + (1 - b2) * g * g
                if name == "bert":
                    step = m[k] / (math.sqrt(v[k]) + eps) + decay * p[k]
                elif name == "gpt":
                    step = math.sqrt(c2) / c1 * (m[k] / (math.sqrt(v[k]) + 2 * eps) + decay * p[k])
                else:
                    step = m[k] / c1 / (math.sqrt(v[k] / c2) + 3 * eps) + decay * p[k]
                p[k] -= lr * step
            rows.append(p.copy())
    at = list(range(total))
    outcomes = after | {
        "bert_schedule": [lr * (u / warmup if u < warmup else 1 - u / total) for u in at],
        "gpt_finetune_schedule": [lr * (u / warmup if u < warmup else 1) * (1 - u / total) for u in at],
        "gpt_pretrain_cosine": [
            lr * (u / warmup if warmup and u <= warmup else 0.5 + 0.5 * math.cos(math.pi * u / total)) for u in at
        ],
    }
    given = {"p0": start, "grads": grads, "lr": lr, "beta1": b1, "beta2": b2, "weight_decay": decay, "eps_bert": eps}
    given |= {"eps_gpt": 2 * eps, "eps_torch": 3 * eps, "schedule_total": total, "schedule_warmup": warmup}
    given["schedule_steps"] = at
    np.savez(path, **{name: np.array(value) for name, value in (given | outcomes).items()})
    return set(outcomes)
