"""What every live model stands on: products, the tape's memory, Adam, chance, and packed weights."""

import base64

import numpy as np


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
    unpack = "(packed) => Object.entries(RTX.unpack(packed)).map(([name, m]) => [name, m.r, m.c, [...m.v]])"
    found = live("weights").evaluate(unpack, {"tensors": tensors, "data": data})
    assert [one[:3] for one in found] == [["w", 10, 6], ["b", 1, 8]]
    np.testing.assert_array_equal(found[0][3], halves.astype(float).reshape(-1))
    np.testing.assert_array_equal(found[1][3], bytes_ * 0.25)
