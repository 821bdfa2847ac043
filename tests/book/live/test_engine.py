"""What every live model stands on: products, the tape's memory, Adam, chance, and packed weights."""

import base64

import numpy as np
import pytest
import torch
from live.parity import BAR, arrays, disturb, error, flat
from torch import nn

PRODUCT = """({a, b, n, k, m, turned}) => {
  const C = new Float64Array(n * m).fill(1)
  RTX.gemm(C, Float64Array.from(a), Float64Array.from(b), n, k, m, ...turned ? [1, n] : [])
  return [...C]
}"""


def test_product(live, double):
    """Whole blocks and every kind of edge, both ways of reading A."""
    page = live()
    found = []
    for n, k, m in [(1, 1, 1), (2, 3, 4), (3, 5, 7), (4, 2, 9), (16, 33, 96), (5, 1, 3)]:
        a, b = torch.randn(n, k), torch.randn(k, m)
        for turned in (False, True):
            given = {"a": flat(a.T if turned else a), "b": flat(b), "n": n, "k": k, "m": m, "turned": turned}
            found.append(error(page.evaluate(PRODUCT, given), 1 + a @ b))
    assert max(found) < BAR


def test_tape_keeps_its_matrices(live):
    """Later steps take the matrices of the first and find in them nothing of the step before."""
    sizes, same = live("random", "scan", "cells", "adding").evaluate("""() => {
      const model = new RTX.Adder({kind: 'lstm', length: 6, hidden: 4, batch: 3, seed: 2})
      model.draw()
      const losses = [], gradients = [], sizes = []
      for (let i = 0; i < 3; i++) {
        losses.push(model.forward())
        model.backward()
        gradients.push(Object.values(model.named()).map((p) => [...p.g].join()).join())
        sizes.push(model.tape.pool.length)
      }
      return [sizes, new Set(losses).size === 1 && new Set(gradients).size === 1]
    }""")
    assert len(set(sizes)) == 1 and same


ADAM = """({weights, gradients, rate, clip, factors}) => {
  const own = matrices(weights), all = Object.values(own)
  all.forEach((p) => { p.g = new Float64Array(p.v.length) })
  const adam = new RTX.Adam(all, factors), norms = []
  for (const step of gradients) {
    adam.zero()
    all.forEach((p, i) => p.g.set(step[i]))
    norms.push(adam.step(rate, clip))
  }
  return {norms, weights: lists(all.map((p) => p.v))}
}"""


@pytest.mark.parametrize("clip", [0.0, 1.0])
def test_adam(live, double, clip):
    """Twelve steps, small and large gradients, beside torch's Adam and clip_grad_norm_."""
    module = disturb(nn.Linear(3, 4), 0.1)
    weights = arrays(module)
    fast, slow = module.parameters()
    adam = torch.optim.Adam([{"params": [fast]}, {"params": [slow], "lr": 0.002}], lr=0.01)
    gradients, norms = [], []
    for step in range(12):
        scale = 3.0 if step % 3 else 1e-9
        for p in module.parameters():
            p.grad = scale * torch.randn_like(p)
        gradients.append([flat(p.grad) for p in module.parameters()])
        norms.append(float(nn.utils.clip_grad_norm_(module.parameters(), clip or 1e9)))
        adam.step()
    given = {"weights": weights, "gradients": gradients, "rate": 0.01, "clip": clip, "factors": [1, 0.2]}
    found = live().evaluate(ADAM, given)
    assert error(found["norms"], norms) < BAR
    # clip_grad_norm_ divides by norm + 1e-6, which is a hair more than the page does
    bar = 1e-6 if clip else BAR
    assert max(error(v, p) for v, p in zip(found["weights"], module.parameters(), strict=True)) < bar


def test_chance(live):
    """The same numbers for a seed, others for another, and as they should be distributed."""
    first, again, other, normal = live("random").evaluate("""() => {
      const draw = (seed, name) => { const c = RTX.random(seed); return Array.from({length: 20000}, () => c[name]()) }
      return [draw(3, 'uniform'), draw(3, 'uniform'), draw(4, 'uniform'), draw(5, 'normal')]
    }""")
    assert first == again and first != other
    assert min(first) >= 0 and max(first) < 1 and abs(np.mean(first) - 0.5) < 0.01
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.03
    assert abs(np.mean(normal)) < 0.03 and abs(np.std(normal) - 1) < 0.03


def test_packed_weights(live):
    """float16 bit for bit, with its zeros, its least and its largest number; int8 times its scale."""
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, 2.0**-24, 2.0**-14, 65504, -65504, np.inf, 1.0], "<f2")
    halves = np.concatenate([special, rng.standard_normal(52).astype("<f2")]).reshape(2, 5, 6)
    bytes_ = rng.integers(-127, 128, 8).astype("i1")
    data = base64.b64encode(halves.tobytes() + bytes_.tobytes()).decode()
    tensors = {"w": {"shape": [2, 5, 6], "at": 0}, "b": {"shape": [8], "at": halves.nbytes, "scale": 0.25}}
    found = live("weights").evaluate(
        "(packed) => Object.entries(RTX.unpack(packed)).map(([name, m]) => [name, m.r, m.c, [...m.v]])",
        {"tensors": tensors, "data": data},
    )
    assert [one[:3] for one in found] == [["w", 10, 6], ["b", 1, 8]]
    np.testing.assert_array_equal(found[0][3], halves.astype(float).reshape(-1))
    np.testing.assert_array_equal(found[1][3], bytes_ * 0.25)


ARITHMETIC = """({w, b, x, n}) => {
  const {weight, bias, scale, shift} = matrices({weight: w, bias: b, scale: n.weight, shift: n.bias})
  return lists({
    affine: RTX.affine(weight, x, bias), bare: RTX.affine(weight, x), row: RTX.row(weight, 1),
    softmax: RTX.softmax(x), sharp: RTX.softmax(x.map((v) => 1000 * v), 0.5),
    norm: RTX.norm(Float64Array.from(x), {weight: scale, bias: shift}),
    tree: Object.keys(RTX.tree({'a.0.w': 1, 'a.1.w': 2, b: 3}).a),
  })
}"""


def test_arithmetic(live, double):
    w, b, x, norm = torch.randn(4, 7), torch.randn(4), torch.randn(7), disturb(nn.LayerNorm(7), 0.3)
    given = {**{k: v for k, v in zip("wb", arrays({"w": w, "b": b}).values(), strict=True)}, "n": arrays(norm)}
    page = live("arithmetic")
    found = page.evaluate(ARITHMETIC, {**given, "x": flat(x)})
    assert found.pop("tree") == ["0", "1"]
    wanted = {"affine": w @ x + b, "bare": w @ x, "row": w[1], "norm": norm(x)}
    wanted |= {"softmax": x.softmax(0), "sharp": (2000 * x).softmax(0)}
    assert max(error(found[name], value) for name, value in wanted.items()) < BAR
