"""XLNet's masks a second time, token by token."""

import torch


def masks(order, target=None):
    """Ranks and mask (1 = may not see) of orders (B, T), pair by pair."""
    rank = torch.zeros_like(order)
    perm = torch.zeros(*order.shape, order.shape[1], dtype=torch.double)
    for b, row in enumerate(order.tolist()):
        for k, t in enumerate(row):
            rank[b, t] = k
        for i in range(len(row)):
            for j in range(len(row)):
                plain = [target is not None and not target[b, t] for t in (i, j)]
                hidden = not plain[1] and (plain[0] or rank[b, i] <= rank[b, j])
                perm[b, i, j] = float(hidden)
    return rank, perm


def windows(ids, masked, shuffle, sep, cls):
    """Ranks, mask (1 = may not see) and targets of partial prediction in windows, token by token."""
    size, length = ids.shape
    index, perm = torch.zeros_like(ids), torch.zeros(size, length, length, dtype=torch.double)
    target = torch.zeros(size, length, dtype=torch.double)
    for b in range(size):
        for t in range(length):
            window = shuffle.shape[1]
            index[b, t] = t // window * window + shuffle[b, t % window]
        kinds = []
        for t in range(length):
            functional = int(ids[b, t]) in (sep, cls)
            kinds.append("functional" if functional else "target" if masked[b, t] else "plain")
            target[b, t] = float(kinds[-1] == "target")
        for i in range(length):
            for j in range(length):
                later = index[b, j] > index[b, i] or (i == j and kinds[i] == "target")
                perm[b, i, j] = float(kinds[j] != "plain" and (kinds[i] == "plain" or later))
    return index, perm, target
