"""Attention equals torch's and plain loops; masks, caches, position schemes and both paths."""

import math
from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F
from reference.plain_loops import attend
from support.compare import draw, furthest, outcomes, worst
from support.helpers import drawn, refusals, relative_error
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from rtx_lib.layers import AdditiveAttention, MultiHeadAttention, causal_mask, dot_product_attention, padding_mask

pytestmark = pytest.mark.usefixtures("double")

# B, T, S, H, K
SHAPES = [(1, 1, 1, 1, 1), (2, 1, 5, 2, 3), (3, 5, 5, 1, 4), (2, 7, 4, 3, 2), (1, 4, 9, 4, 5), (4, 6, 6, 2, 8)]
MASKS = ("none", "causal", "padding", "any", "by head", "keys", "empty rows", "all empty")
PATHS = ("fused", "explicit")


def make(width, heads, seed=0, **arguments):
    """An attention whose biases are not 0, so that none can go missing unseen."""
    model = drawn(seed, MultiHeadAttention, width, heads, **arguments)
    with torch.no_grad():
        for number, name in enumerate(("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")):
            if arguments.get("bias", True) or "weight" in name:
                parameter = model.get_parameter(name)
                parameter.copy_(0.5 * draw(*parameter.shape, seed=100 + 7 * seed + number))
    return model


def make_mask(kind, b, t, s, h, seed=0):
    """A mask broadcastable to (B, H, T, S); every query may see the first key unless rows are to be empty."""
    if kind == "none":
        return None
    if kind == "causal":
        return causal_mask(t, s)
    if kind == "padding":
        lengths = torch.randint(1, s + 1, (b, 1), generator=torch.Generator().manual_seed(seed))
        return padding_mask((torch.arange(s) < lengths).long())
    shape = {"any": (b, 1, t, s), "by head": (1, h, t, s), "keys": (s,)}.get(kind, (b, h, t, s))
    mask = draw(*shape, seed=seed) > 0
    if kind in ("any", "by head", "keys"):
        mask[..., 0] = True
    elif kind == "empty rows":
        mask[:, :, ::2] = False
    else:
        mask[:] = False
    return mask


def look(model, path):
    """The list of weights that a hook sees; without a hook, and empty, for the fused path."""
    seen = []
    if path == "explicit":
        model.weights_tap.register_forward_hook(lambda module, args, out: seen.append(out))
    return seen


def plain_heads(model, x, memory, mask, bias=None):
    """Multi-head attention with one matrix for each head, from the parameters' layout."""
    width, heads = model.width, model.heads
    memory, size = x if memory is None else memory, width // heads
    w, b = model.in_proj_weight, model.in_proj_bias
    b = torch.zeros(3 * width) if b is None else b
    parts = [[], [], []]
    for part, source in enumerate((x, memory, memory)):
        for head in range(heads):
            rows = slice(part * width + head * size, part * width + (head + 1) * size)
            parts[part].append(torch.einsum("btd,kd->btk", source, w[rows]) + b[rows])
    y, weights = attend(*(torch.stack(part, dim=1) for part in parts), mask, bias)
    y = torch.einsum("bhtk,dhk->btd", y, model.out_proj.weight.view(width, heads, size))
    return (y if model.out_proj.bias is None else y + model.out_proj.bias), weights


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", MASKS)
def test_equals_the_plain_loops(kind, path, bias):
    """Also where a query may see nothing: there it gives W_O 0 + b_O, and nothing flows back."""
    for seed, (b, t, s, h, k) in enumerate(SHAPES[:4]):
        for cross in (False, True):
            s = s if cross and (kind != "causal" or t <= s) else t
            model = make(h * k, h, seed, bias=bias)
            inputs = [draw(b, n, h * k, seed=seed).requires_grad_() for n in ((t, s) if cross else (t,))]
            mask, seen = make_mask(kind, b, t, s, h, seed), look(model, path)
            causal = kind == "causal" and not cross
            y, weights = plain_heads(model, inputs[0], inputs[1] if cross else None, mask)
            with torch.autograd.detect_anomaly(check_nan=True):
                z, _ = model(*inputs, mask=None if causal else mask, causal=causal)
                assert furthest(z, y, [*inputs, *model.parameters()]) < 1e-12
            assert (len(seen) == (path == "explicit") and not seen) or worst(seen, [weights]) < 1e-12


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("biased", [False, True])
def test_the_readable_form_equals_the_loops_and_the_kernel(biased, kind):
    for seed, (b, t, s, h, k) in enumerate(SHAPES):
        t = min(t, s)
        q, key = draw(b, h, t, k, seed=seed).requires_grad_(), draw(b, h, s, k, seed=seed + 1).requires_grad_()
        v = draw(b, h, s, k + 1, seed=seed + 2).requires_grad_()
        bias = draw(h, t, s, seed=seed + 3).requires_grad_() if biased else None
        inputs, mask = [q, key, v, *([bias] if biased else [])], make_mask(kind, b, t, s, h, seed)
        for scale in (None, 0.3):
            found = dot_product_attention(q, key, v, mask=mask, bias=bias, scale=scale)
            assert furthest(found, attend(q, key, v, mask, bias, scale), inputs) < 1e-12
            both = bias if mask is None else mask if bias is None else bias.masked_fill(~mask, -math.inf)
            both = both if mask is None else both.expand(b, h, t, s)  # it takes no mask of one axis
            if "empty" not in kind:
                fused = F.scaled_dot_product_attention(q, key, v, both, scale=scale)
                assert furthest(found[0], fused, inputs) < 1e-12


def test_weights_move_here_from_torch_and_back():
    for bias in (True, False):
        theirs = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True)
        ours = MultiHeadAttention(12, 3, bias=bias)
        ours.load_state_dict(theirs.state_dict())
        assert list(ours.state_dict()) == list(theirs.state_dict())
        x = draw(2, 5, 12)
        assert worst([ours(x)[0]], [theirs(x, x, x)[0]]) < 1e-12
        theirs.load_state_dict(make(12, 3, bias=bias).state_dict())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("biased", [False, True])
def test_a_masked_key_and_its_value_change_nothing(biased, path):
    model = make(8, 2, positions=Bias(2, 6) if biased else None)
    look(model, path)
    x = draw(3, 6, 8)
    mask = make_mask("any", 3, 6, 6, 2)
    mask[..., 4:] = False
    mask[1, :, 2] = False  # one row of all
    huge = x.clone()
    huge[:, 4:] = 1e30
    x.requires_grad_(), huge.requires_grad_()
    y, z = model(x, mask=mask)[0][:, :4], model(huge, mask=mask)[0][:, :4]
    assert worst([z], [y]) < 1e-12
    parameters = list(model.parameters())
    ours, theirs = outcomes(z, [huge, *parameters]), outcomes(y, [x, *parameters])
    assert worst(ours, theirs) < 1e-12 and not ours[1][:, 4:].any()


def test_the_cache_holds_the_projected_keys_and_values():
    """Before any rotation, with an empty cache like none, and for the memory in cross-attention."""
    x, memory = draw(2, 4, 6), draw(2, 5, 6, seed=1)
    for model in (make(6, 3), make(6, 3, positions=Turn())):
        for cache, source in ((model(x)[1], x), (model(x, memory)[1], memory)):
            _, k, v = (source @ model.in_proj_weight.T + model.in_proj_bias).chunk(3, dim=-1)
            assert worst(cache, [part.view(2, -1, 3, 2).transpose(1, 2) for part in (k, v)]) < 1e-12
    assert torch.equal(model(x, memory)[0], make(6, 3)(x, memory)[0]), "a memory has its own time"
    empty = torch.zeros(2, 3, 0, 2)
    assert worst([model(x, cache=(empty, empty), causal=True)[0]], [model(x, causal=True)[0]]) < 1e-12
    whole, cache = model(x, memory)
    again, same = model(x[:, 1:3], torch.full_like(memory, math.nan), cache=cache)  # the memory is not read again
    assert worst([again], [whole[:, 1:3]]) < 1e-12 and same == cache


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("key_heads", [1, 2])
def test_fewer_key_heads_equal_full_attention_whose_keys_are_copies(key_heads, path):
    """Whole and in two pieces, with every position scheme, to itself and to a memory; gradients of copies add up."""
    x, memory = draw(2, 5, 8), draw(2, 3, 8, seed=1)
    for positions in (None, Bias(4, 5), Turn(), Value(5)):
        few, full = make(8, 4, positions=positions, key_heads=key_heads), make(8, 4, positions=positions)

        def copies(rows):
            q, kv = rows[:8], rows[8:].unflatten(0, (2, key_heads, 2))
            return torch.cat([q, kv.repeat_interleave(4 // key_heads, dim=1).flatten(0, 2)])

        rest = {name: value for name, value in few.named_parameters() if "in_proj" not in name}
        same = rest | {name: copies(getattr(few, name)) for name in ("in_proj_weight", "in_proj_bias")}
        seen, theirs = look(few, path), look(full, path)
        for own, options in ((None, {"causal": True}), (memory, {})):
            y, z = few(x, own, **options)[0], torch.func.functional_call(full, same, (x, own), options)[0]
            assert furthest(y, z, list(few.parameters())) < 1e-12
        assert all(weights.shape[1] == 4 for weights in seen) and (not seen or worst(seen, theirs) < 1e-12)
        start, cache = few(x[:, :3], causal=True)
        end, cache = few(x[:, 3:], causal=True, cache=cache)
        assert worst([torch.cat([start, end], 1)], [few(x, causal=True)[0]]) < 1e-12
        assert all(part.shape == (2, key_heads, 5, 2) for part in (*cache, *few.keys_and_values(x)))
    with pytest.raises(ValueError, match="key_heads must be a divisor of 4, got 3"):
        MultiHeadAttention(8, 4, key_heads=3)


# Position schemes with one method each. They depend on absolute positions, so that a wrong offset shows.
class Bias(nn.Module):
    def __init__(self, heads, size, seed=0):
        super().__init__()
        self.table = nn.Parameter(draw(heads, size, size, seed=50 + seed))

    def score_bias(self, q, k, offset):
        return self.table[:, offset : offset + q.shape[2], : k.shape[2]]


class Turn(nn.Module):
    def rotate(self, q, k, offset):
        return q * torch.arange(1.0 + offset, 1 + offset + q.shape[2])[:, None], k * (1 + torch.arange(k.shape[2]))[
            :, None
        ].cos()


class Value(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = nn.Parameter(draw(size, 2, seed=60))

    def value_bias(self, weights):
        return weights @ self.table[: weights.shape[3]]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("causal", [False, True])
def test_a_scheme_does_what_it_says(causal, kind, path):
    """A bias with every mask, and a term for the values, equal the plain loops; in both paths."""
    b, t, h, k = 2, 5, 3, 2
    model, x = make(h * k, h, positions=Bias(h, t)), draw(b, t, h * k).requires_grad_()
    look(model, path)
    mask = make_mask(kind, b, t, t, h)
    both = mask if not causal else causal_mask(t) if mask is None else causal_mask(t) & mask
    y, _ = plain_heads(model, x, None, both, model.positions.table)
    z, _ = model(x, mask=mask, causal=causal)
    assert worst([z], [y]) < 1e-12
    assert furthest(z, y, [x, *model.parameters()]) < 1e-12
    model.positions, before = Value(t), make(h * k, h)
    seen = look(before, "explicit")
    y = before(x, mask=mask, causal=causal)[0]
    extra = (seen[0] @ model.positions.table).transpose(1, 2).reshape(b, t, h * k)
    assert worst([model(x, mask=mask, causal=causal)[0]], [y + extra @ before.out_proj.weight.T]) < 1e-12


@contextmanager
def kernel(monkeypatch):
    """The arguments of every call of torch's fused kernel."""
    calls, original = [], F.scaled_dot_product_attention

    def record(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False):
        calls.append((attn_mask, dropout_p, is_causal))
        return original(q, k, v, attn_mask, dropout_p, is_causal)

    with monkeypatch.context() as patch:
        patch.setattr(F, "scaled_dot_product_attention", record)
        yield calls


def test_the_kernel_gets_a_mask_only_if_it_needs_one(monkeypatch):
    model, x = make(6, 3), draw(2, 4, 6)
    with kernel(monkeypatch) as calls:
        _, cache = model(x, causal=True)
        model(x)
        model(x[:, :1], causal=True, cache=cache)  # one query is the last of all
        assert calls == [(None, 0.0, True), (None, 0.0, False), (None, 0.0, False)]
        model(x, causal=True, cache=cache)
        assert torch.equal(calls[-1][0].squeeze(), causal_mask(4, 8))
        model(x, mask=make_mask("by head", 2, 4, 4, 3))
        make(6, 3, positions=Bias(3, 4))(x, causal=True)
        # The fast kernels take masks of two or four axes.
        assert [call[0].ndim for call in calls[-2:]] == [4, 4] and not any(call[2] for call in calls[3:])
        # They may give NaN for a row that is masked as a whole, and do in older versions of torch.
        model(x, mask=make_mask("empty rows", 2, 4, 4, 3))
        assert calls[-1][0].any(-1).all()
        number = len(calls)
        look(model, "explicit")
        model(x)
        make(6, 3, positions=Value(4))(x)
        assert len(calls) == number


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("arguments", [{}, {"causal": True}, {"mask": torch.ones(1, 1, dtype=torch.bool)}])
def test_dropout_falls_on_the_weights_in_training_only(arguments, path):
    """With one key the only weight is 1, so each head's output is 0 or 1 / (1 - p) times its value."""
    model = MultiHeadAttention(40, 20, dropout=0.25)
    with torch.no_grad():
        model.out_proj.weight.copy_(torch.eye(40))
    seen = look(model, path)
    x = draw(200, 1, 40)
    torch.manual_seed(0)
    value = (x @ model.in_proj_weight[80:].T).view(200, 20, 2)
    ratio = model(x, **arguments)[0].view(200, 20, 2) / value
    dropped = ratio == 0
    assert torch.equal(dropped[..., 0], dropped[..., 1])
    assert ((ratio - 4 / 3).abs() < 1e-9).logical_or(dropped).all()
    assert abs(float(dropped.double().mean()) - 0.25) < 0.03  # 4,000 draws: standard deviation 0.007
    assert all((weights == 1).all() for weights in seen)  # a hook sees them before
    model.eval()
    assert worst([model(x, **arguments)[0].view(200, 20, 2)], [value]) < 1e-12


def test_dropout_falls_on_the_term_for_the_values_too():
    model = MultiHeadAttention(2, 1, dropout=0.5, positions=Value(1))
    with torch.no_grad():
        model.out_proj.weight.copy_(torch.eye(2))
    x = draw(64, 1, 2)
    torch.manual_seed(0)
    ratio = model(x)[0][:, 0] / (x[:, 0] @ model.in_proj_weight[4:].T + model.positions.table)
    assert ((ratio - 2).abs() < 1e-9).logical_or(ratio == 0).all() and (ratio == 0).any() and (ratio != 0).any()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_lower_precision(dtype, path):
    for positions in (None, Bias(2, 6)):
        model = make(8, 2, positions=positions)
        look(model, path)
        x, mask = draw(3, 6, 8), make_mask("empty rows", 3, 6, 6, 2)
        expected = model(x, mask=mask, causal=True)[0]
        model.to(dtype)
        for full in (dtype, torch.float32):  # a scheme may compute in more precision
            model.positions = None if positions is None else positions.to(full)
            y, cache = model(x.to(dtype), mask=mask, causal=True)
            assert y.dtype == cache[0].dtype == dtype
            assert relative_error(y.double(), expected) < 20 * torch.finfo(dtype).eps


def test_masks():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
    mask = padding_mask(torch.tensor([[0, 0, 0], [5, 1, 0], [1, 2, 3]]))
    assert mask.shape == (3, 1, 1, 3) and mask.dtype == torch.bool
    assert mask.squeeze().tolist() == [[False, False, False], [True, True, False], [True, True, True]]
    assert padding_mask(torch.tensor([[0, 7]]), pad=7).tolist() == [[[[True, False]]]]


def test_initial_weights():
    """Those of torch.nn in distribution."""
    theirs = nn.MultiheadAttention(64, 4)
    for name, parameter in drawn(1, MultiHeadAttention, 64, 4).named_parameters():
        other = theirs.get_parameter(name)
        assert abs(parameter.abs().max() - other.abs().max()) < 0.01 and abs(parameter.std() - other.std()) < 0.005
    for name, a in drawn(1, AdditiveAttention, 3, 4, 50).named_parameters():
        assert 0.8 < a.abs().max() * math.sqrt(a.shape[1]) <= 1, name


def plain_additive(model, query, keys, mask):
    """v^T tanh(W s_i + U h_j), one pair at a time, as the scores of plain attention."""
    w, u, v = model.query.weight, model.key.weight, model.score.weight[0]
    scores = [torch.stack([torch.tanh(w @ s + u @ h) @ v for h in keys[b]]) for b, row in enumerate(query) for s in row]
    scores, nothing = torch.stack(scores).view(len(query), 1, query.shape[1], -1), keys.new_zeros(())
    q, k = (nothing.expand(*z.shape[:2], 1)[:, None] for z in (query, keys))
    y, weights = attend(q, k, keys[:, None], None if mask is None else mask.view(-1, 1, *mask.shape[1:]), scores)
    return y[:, 0], weights[:, 0]


@pytest.mark.parametrize("kind", ["none", "padding", "any", "empty rows"])
def test_additive_attention_equals_the_loops(kind):
    for seed, (b, t, s, d, e) in enumerate(SHAPES):
        model = drawn(seed, AdditiveAttention, d, e, 4)
        query, keys = draw(b, t, d, seed=seed).requires_grad_(), draw(b, s, e, seed=seed + 1).requires_grad_()
        mask, seen = make_mask(kind, b, t, s, 1, seed), look(model, "explicit")
        mask = None if mask is None else mask.squeeze(1)
        y, weights = plain_additive(model, query, keys, mask)
        z = model(query, keys, mask=mask)
        assert worst([z, *seen], [y, weights]) < 1e-12
        assert furthest(z, y, [query, keys, *model.parameters()]) < 1e-12


def test_additive_attention_ignores_padding_and_lets_a_hook_change_it():
    model, query, keys = AdditiveAttention(3, 4, 5), draw(2, 3, 3), draw(2, 6, 4, seed=1)
    mask = padding_mask(torch.tensor([[1, 1, 1, 1, 0, 0], [0] * 6])).squeeze(1)
    huge = keys.masked_fill(~mask.transpose(1, 2), 1e30)
    assert torch.equal(model(query, keys, mask=mask), model(query, huge, mask=mask))
    assert not model(query, keys, mask=mask)[1].any()
    model.weights_tap.register_forward_hook(lambda module, args, weights: torch.full_like(weights, 1 / 6))
    assert worst([model(query, keys)], [keys.mean(1, keepdim=True).expand(2, 3, 4)]) < 1e-12


X, Q, ADDITIVE = torch.zeros(2, 3, 6), torch.zeros(2, 3, 4, 5), AdditiveAttention(3, 4, 5)
CACHE = (torch.zeros(2, 3, 7, 2), torch.zeros(2, 3, 7, 2))
BAD = [
    (lambda m: m(X, X, causal=True), r"causal must be False in cross-attention.* got True"),
    (lambda m: m(X, mask=X), r"mask must be a bool tensor, True = may attend, got torch.float32"),
    (lambda m: m(X, mask=[True]), r"mask must be a bool tensor, .* got list"),
    (lambda m: m(X, mask=causal_mask(3), cache=CACHE), r"mask must be .* \(2, 3, 3, 10\), got shape \(3, 3\)"),
    (lambda m: m(X, cache=(CACHE[0], CACHE[1][:, :, 1:])), r"cache\[1\] must .* \(2, 3, 7, 2\), got \(2, 3, 6, 2\)"),
    (lambda m: causal_mask(3, 2), r"keys must be at least queries = 3, got 2"),
    (lambda m: padding_mask(torch.ones(3)), r"ids must have shape \(B, S\), got \(3,\)"),
    (lambda m: dot_product_attention(Q, Q, Q, mask=Q), r"mask must be a bool tensor"),
    (lambda m: dot_product_attention(Q, Q, Q, bias=causal_mask(4)), r"bias must be a float tensor, got torch.bool"),
    (lambda m: dot_product_attention(Q, Q, Q, bias=Q), r"bias must be broadcastable to \(2, 3, 4, 4\), got shape"),
    *((lambda m, b=b: m(X, mask=torch.ones(b, 3, 3) > 0), r"mask must be \(B, 1, T, S\), or \(1, H") for b in (2, 3)),
    (lambda m: ADDITIVE(X[..., :3], X[..., :4], mask=causal_mask(4)), r"mask must be .* \(2, 3, 3\), got"),
]


test_bad_input = refusals(BAD, lambda: make(6, 3).float())


def test_second_derivatives_are_had_or_refused_in_a_sentence():
    model, x = make(6, 3).float(), draw(2, 4, 6).float().requires_grad_()

    def second():
        (first,) = torch.autograd.grad(model(x)[0].square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0]

    with pytest.raises(RuntimeError, match=r"^torch's fused attention has no second derivatives: compute in float64, "):
        second()
    with sdpa_kernel(SDPBackend.MATH):
        expected = second()
    look(model, "explicit")
    assert relative_error(second(), expected) < 1e-5
