"""The IndRNN nets written a second time: plain loops, time-major, under the authors' names, gradients by autograd."""

import torch
from reference.plain_loops import Parameters, write


def recur(x, u, h):
    """The states (T, B, N) of h_t = relu(x_t + u h_{t-1}) for x (T, B, N)."""
    states = []
    for t in range(len(x)):
        h = (x[t] + u * h).clamp(min=0)
        states.append(h)
    return torch.stack(states)


class Net:
    """Parameters p, the buffers of the batch normalisations, where they stand, and whether training moves them.

    ``cuda`` takes the parameter names of the authors' CUDA kernel; ``fresh`` starts the buffers at mean 0, variance 1.
    """

    def __init__(self, norm, *, seed=0, cuda=False, fresh=False):
        self.norm, self.fresh, self.training, self.p, self.buffers = norm, fresh, True, Parameters(seed=seed), {}
        self.u, self.first = "weight_hh" if cuda else "indrnn_cell.weight_hh", {}

    def normalise(self, at, x):
        """Batch normalisation over time and batch."""
        p, size, steps = self.p, x.shape[-1], x.shape[0] * x.shape[1]
        if f"{at}.running_mean" not in self.buffers:
            mean = torch.zeros(size).double() if self.fresh else p.random(size).detach()
            variance = torch.ones(size).double() if self.fresh else 0.5 + p.random(size).detach() ** 2
            start = {"running_mean": mean, "running_var": variance, "num_batches_tracked": torch.tensor(3)}
            start |= {"num_batches_tracked": torch.tensor(0)} if self.fresh else {}
            self.first |= {f"{at}.{name}": value for name, value in start.items()}
            self.buffers |= {f"{at}.{name}": value for name, value in start.items()}
        mean, variance = (self.buffers[f"{at}.running_{name}"] for name in ("mean", "var"))
        if self.training:
            new_mean = x.sum((0, 1)) / steps
            new_variance = ((x - new_mean) ** 2).sum((0, 1)) / steps
            self.buffers[f"{at}.running_mean"] = 0.9 * mean + 0.1 * new_mean.detach()
            self.buffers[f"{at}.running_var"] = 0.9 * variance + 0.1 * new_variance.detach() * steps / (steps - 1)
            self.buffers[f"{at}.num_batches_tracked"] = self.buffers[f"{at}.num_batches_tracked"] + 1
            mean, variance = new_mean, new_variance
        return (x - mean) / (variance + 1e-5) ** 0.5 * p.of(f"{at}.weight", size) + p.of(f"{at}.bias", size)

    def unit(self, at, x):
        """A recurrence from the zero state, and its normalisation."""
        x = self.normalise(f"{at}.norm1.bn", x) if self.norm == "before" else x
        h = recur(x, self.p.of(f"{at}.indrnn1.{self.u}", x.shape[-1]), torch.zeros_like(x[0]))
        return self.normalise(f"{at}.norm1.bn", h) if self.norm == "after" else h

    def layer(self, x, linear, unit, size):
        return self.unit(unit, self.p.linear(linear, x, size))


def plain(net, x, *, num_layers, hidden):
    """Linear map, unit, linear map, unit, ..."""
    for i in range(num_layers):
        x = net.layer(x, f"DIs.{i}.fc", f"RNNs.{i}", hidden)
    return x


def residual(net, x, *, num_blocks, hidden):
    """Pre-activation blocks between a linear map and a last unit."""
    h = net.p.linear("features.fc0.fc", x, hidden)
    for i in range(1, num_blocks + 1):
        at = f"features.resblock{i}"
        inner = net.p.linear(f"{at}.fc1.fc", net.unit(f"{at}.IndRNNwithBN1", h), hidden)
        h = h + net.p.linear(f"{at}.fc2.fc", net.unit(f"{at}.IndRNNwithBN2", inner), hidden)
    return net.unit("features.IndRNNwithBN_last", h)


def dense(net, x, *, block_config, growth_rate, num_init_features):
    """Blocks whose layers read everything before them, and transitions."""
    h = net.layer(x, "features.fc0.fc", "features.IndRNNwithBN0", num_init_features)
    for i, depth in enumerate(block_config, start=1):
        for j in range(1, depth + 1):
            at = f"features.denseblock{i}.denselayer{j}"
            inner = net.layer(h, f"{at}.fc1.fc", f"{at}.IndRNNwithBN1", 4 * growth_rate)
            h = torch.cat([h, net.layer(inner, f"{at}.fc2.fc", f"{at}.IndRNNwithBN2", growth_rate)], -1)
        at = "features.lastlayer" if i == len(block_config) else f"features.transition{i}"
        h = net.layer(h, f"{at}.fc.fc", f"{at}.IndRNNwithBN", h.shape[-1] // 2)
    return h


KINDS = {"plain": plain, "residual": residual, "dense": dense}


def make_net(path, *, time=5, batch=3, width=3, classes=2, gradients=True, seed=0, cuda=False, fresh=False, **sizes):
    """Write a file of a net's family, which its name tells; ``fresh`` leaves ``b0/`` out, as the deep nets do."""
    kind = KINDS[path.stem.split("_")[1]]
    net = Net("before" if "before" in path.stem else "after", seed=seed, cuda=cuda, fresh=fresh)
    x = net.p.random(time, batch, width)

    def outputs():
        return net.p.linear("classifier", kind(net, x, **sizes)[-1], classes)

    outcomes = {"train_out": outputs()}
    outcomes |= {f"b1/{name}": value for name, value in net.buffers.items()}
    net.training = False
    outcomes["eval_out"] = outputs()
    grad_out, found = net.p.gradients(outcomes["train_out"], x=x) if gradients else ({}, {})
    before = {} if fresh else {f"b0/{name}": value for name, value in net.first.items()}
    return write(path, {"x": x} | before | grad_out, net.p, outcomes | found, **sizes)


def make_recurrent(path, *, seed=0, time=9, batch=2, size=4):
    """Write a file of the recurrence alone, with u in (-1, 1)."""
    p = Parameters(seed=seed)
    x, h0, u = p.random(time, batch, size), p.random(batch, size), p.random(size).detach().tanh().requires_grad_()
    outcomes = {"out": recur(x, u, h0), "out_h0none": recur(x, u, torch.zeros_like(h0))}
    grad_out, found = p.gradients(outcomes["out"], x=x, h0=h0, u=u)
    return write(path, {"x": x, "h0": h0, "u": u} | grad_out, {}, outcomes | found)
