"""Our models beside other people's packages: nothing of this book needs them, so they are imported here alone.

Whoever wants to measure installs what is to be compared: transformers, mambapy, xlstm, minGRU-pytorch, pytorch-tcn,
gensim. A package that is not installed costs its own rows, and one line on standard error.
"""

import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module, metadata
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rtx_book.bench.measuring import Variant, row, that_run
from rtx_lib import layers
from rtx_lib.diagnostics import agreement
from rtx_lib.diagnostics.measuring import measure
from rtx_lib.layers.blocks import Block
from rtx_lib.layers.official import renamed
from rtx_lib.models.bert import BERT
from rtx_lib.models.gpt import GPT
from rtx_lib.models.mamba import Mamba, MambaLM
from rtx_lib.models.min_rnn import MinGRU
from rtx_lib.models.tcn import TCN
from rtx_lib.models.word2vec import Word2Vec, cumulative_table, fit_word2vec
from rtx_lib.models.xlstm import MLSTM, SLSTM
from rtx_lib.tasks.skipgram import SkipGrams


class Sizes(NamedTuple):
    """B, T, D, heads, layers and vocabulary; how many symbols are written, and words read."""

    batch: int = 16
    steps: int = 256
    width: int = 128
    heads: int = 4
    layers: int = 2
    vocabulary: int = 65
    written: int = 128
    words: int = 50_000


class Duel(NamedTuple):
    """Ours and theirs, models or what is called with x; without x both are called as they are."""

    name: str
    ours: Any
    against: str
    theirs: Any
    x: Tensor | None = None
    size: str = ""
    same: bool = True  # have they the same weights?


Duels = Iterator[Duel]


def of_torch(s: Sizes, x: Tensor, ids: Tensor) -> Duels:
    """torch.nn's recurrent layers, attention and block of an encoder."""
    for name, backend in (("LSTM", "loop"), ("LSTM", "torch"), ("GRU", "loop"), ("RNN", "loop")):
        theirs: Any = getattr(nn, name)(s.width, s.width, batch_first=True)
        ours: Any = getattr(layers, name)(s.width, s.width, **({} if name == "RNN" else {"backend": backend}))
        ours.load_state_dict(theirs.state_dict())
        yield Duel(f"{name}, {'by hand' if backend == 'loop' else backend}", ours, f"nn.{name}", theirs, x)
    theirs = nn.MultiheadAttention(s.width, s.heads, batch_first=True)
    ours = layers.MultiHeadAttention(s.width, s.heads)
    ours.load_state_dict(theirs.state_dict())
    theirs.forward = lambda x, forward=theirs.forward: forward(x, x, x, need_weights=False)
    yield Duel("MultiHeadAttention", ours, "nn.MultiheadAttention", theirs, x, f" H={s.heads}")
    theirs = nn.TransformerEncoderLayer(s.width, s.heads, 4 * s.width, 0.0, batch_first=True)
    names = {"self_attn": "self_attention", "^linear": "feed_forward.linear", "norm1": "norms.0", "norm2": "norms.1"}
    ours = Block(s.width, s.heads, inner=4 * s.width, norm="post")
    ours.load_state_dict(renamed(theirs.state_dict(), names))
    yield Duel("Block", ours, "nn.TransformerEncoderLayer", theirs, x, f" H={s.heads}")


def of_transformers(s: Sizes, x: Tensor, ids: Tensor) -> Duels:
    """Hugging Face's GPT-2 and Mamba, which also write, and BERT."""
    hf: Any = import_module("transformers")
    off = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    sizes = {"n_embd": s.width, "n_layer": s.layers, "n_head": s.heads, "n_positions": s.steps}
    config = hf.GPT2Config(vocab_size=s.vocabulary, bos_token_id=None, eos_token_id=None, **sizes, **off)
    gpt2 = hf.GPT2LMHeadModel(config).eval()
    gpt, size = GPT.from_official(gpt2.state_dict(), heads=s.heads).eval(), f" H={s.heads}, {s.layers} layers"
    yield Duel("GPT-2", gpt, "GPT2LMHeadModel", gpt2, ids, size)
    yield _writing(s, "GPT-2", gpt, gpt2, ids)
    sizes = {"vocab_size": s.vocabulary, "hidden_size": s.width, "num_hidden_layers": s.layers}
    theirs = hf.MambaForCausalLM(hf.MambaConfig(bos_token_id=None, eos_token_id=None, **sizes)).eval()
    ours, few = MambaLM.from_huggingface(theirs.state_dict()).eval(), ids[: -(-len(ids) // 4)]
    yield Duel("Mamba", ours, "MambaForCausalLM", theirs, few, f" N=16, {s.layers} layers")
    yield _writing(s, "Mamba", ours, theirs, ids)
    off = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    sizes = {"hidden_size": s.width, "num_hidden_layers": s.layers, "num_attention_heads": s.heads}
    sizes |= {"intermediate_size": 4 * s.width, "max_position_embeddings": s.steps}
    theirs = hf.BertForMaskedLM(hf.BertConfig(vocab_size=s.vocabulary, **sizes, **off)).eval()
    yield Duel("BERT", BERT.from_official(theirs.state_dict(), heads=s.heads), "BertForMaskedLM", theirs, ids, size)


def _writing(s: Sizes, name: str, ours: nn.Module, theirs: Any, ids: Tensor) -> Duel:
    """From one symbol on, each time the most probable."""
    write = torch.no_grad()(partial(layers.sample, ours, ids[:1, :1], s.written, top=1, generator=torch.Generator()))
    rule: dict[str, Any] = {"max_new_tokens": s.written, "do_sample": False, "pad_token_id": 0}
    return Duel(f"{name} writes {s.written} ids", write, "generate", partial(theirs.generate, ids[:1, :1], **rule))


def of_mambapy(s: Sizes, x: Tensor, ids: Tensor) -> Duels:
    """The block of Mamba in torch alone, with a scan in log T steps."""
    package: Any = import_module("mambapy.mamba")
    theirs = package.MambaBlock(package.MambaConfig(s.width, 1))
    yield Duel("Mamba", Mamba.from_official(theirs.state_dict()), "MambaBlock", theirs, x[: -(-len(x) // 4)], " N=16")


def of_xlstm(s: Sizes, x: Tensor, ids: Tensor) -> Duels:
    """The authors' layers: mLSTM in its quadratic form, sLSTM without the kernel that needs CUDA."""
    package: Any = import_module("xlstm")
    known: dict[str, Any] = {"embedding_dim": s.width, "num_heads": s.heads}
    theirs = package.mLSTMLayer(package.mLSTMLayerConfig(context_length=s.steps, **known))
    yield Duel("mLSTM", MLSTM.from_official(theirs.state_dict()), "mLSTMLayer", theirs, x, f" H={s.heads}")
    cell: dict[str, Any] = {"backend": "vanilla", "dtype": "float32", "enable_automatic_mixed_precision": False}
    theirs = package.sLSTMLayer(package.sLSTMLayerConfig(**known, **cell))
    theirs.reset_parameters()
    yield Duel("sLSTM", SLSTM.from_official(theirs.state_dict()), "sLSTMLayer, vanilla", theirs, x, f" H={s.heads}")


def of_mingru(s: Sizes, x: Tensor, ids: Tensor) -> Duels:
    """minGRU, which that package computes in log space."""
    package: Any = import_module("minGRU_pytorch.minGRU")
    theirs = package.minGRU(s.width)
    yield Duel("MinGRU", MinGRU.from_official(theirs.state_dict()), "minGRU", theirs, x)


def of_tcn(s: Sizes, x: Tensor, ids: Tensor) -> Duels:
    """Four levels of three taps and a readout."""
    package: Any = import_module("pytorch_tcn")
    sizes, rest = [s.width] * 4, {"dropout": 0.0, "input_shape": "NLC", "output_projection": s.vocabulary}
    theirs, ours = package.TCN(s.width, sizes, 3, **rest), TCN(s.width, s.vocabulary, sizes, 3)
    names = {r"parametrizations\.weight\.original0": "weight_g", r"parametrizations\.weight\.original1": "weight_v"}
    weights = renamed(theirs.state_dict(), names | {"^projection_out": "readout"})
    weights["readout.weight"] = weights["readout.weight"].squeeze(-1)
    ours.load_state_dict({name: weights[name] for name in ours.state_dict()})
    yield Duel("TCN", ours, "TCN", theirs, x, ", 4 levels, k=3")


def of_gensim(s: Sizes, x: Tensor, ids: Tensor) -> Duels:
    """One pass of skip-gram through words as frequent as 1 / rank, in sentences of 50."""
    package: Any = import_module("gensim.models")
    chance = 1 / torch.arange(1, 2001.0)
    words = chance.multinomial(s.words, replacement=True).view(-1, 50).tolist()
    text = [[str(word) for word in sentence] for sentence in words]
    theirs = package.Word2Vec(vector_size=100, window=5, negative=5, sg=1, sample=0, workers=1, min_count=1)
    theirs.build_vocab(text)
    pairs, ours = SkipGrams(words, 2000, noise=cumulative_table), Word2Vec(2000, 100)
    generator = torch.Generator().manual_seed(0)
    read = partial(theirs.train, text, total_examples=len(text), epochs=1)
    name = f"skip-gram, {s.words} words, D=100"
    yield Duel(name, lambda: fit_word2vec(ours, pairs.passes(1, generator=generator)), "Word2Vec", read, same=False)


def compiled(s: Sizes, x: Tensor, ids: Tensor) -> Duels:
    """Ours under torch.compile against ours as it is, where there is a compiler for C++ or a GPU."""
    gpt = GPT(s.vocabulary, width=s.width, heads=s.heads, layers=s.layers, length=s.steps, norm="pre")
    tcn, size = TCN(s.width, s.vocabulary, [s.width] * 4, 3), f" H={s.heads}"
    for name, model, given, more in (
        ("GPT-2", gpt, ids, f"{size}, {s.layers} layers"),
        ("Block", Block(s.width, s.heads, inner=4 * s.width, norm="post"), x, size),
        ("mLSTM", MLSTM(s.width, s.heads), x, size),
        ("MinGRU", MinGRU(s.width), x, ""),
        ("Mamba", Mamba(s.width), x[: -(-len(x) // 4)], " N=16"),
        ("TCN", tcn, x, ", 4 levels, k=3"),
    ):
        yield Duel(f"{name}, torch.compile", torch.compile(model.eval()), f"{name}, ours as it is", model, given, more)


PEERS: dict[str, Callable[[Sizes, Tensor, Tensor], Duels]]
PEERS = {"torch": of_torch, "transformers": of_transformers, "mambapy": of_mambapy, "xlstm": of_xlstm}
PEERS |= {"minGRU-pytorch": of_mingru, "pytorch-tcn": of_tcn, "gensim": of_gensim, "torch.compile": compiled}


def peers(device: str = "cpu", sizes: Sizes = Sizes(), rounds: int = 7, again: int = 3) -> list[dict[str, Any]]:  # noqa: B008
    """A training step of ours, forward and backward, against that of each peer that is here, with the same weights.

    Besides ``ratio`` a row has ``forward_ratio``, without gradients. All is measured ``again`` times, with the other
    rows in between: the ratios are medians, and ``spread`` holds the lowest and the highest ``ratio``.
    ``seconds_per_step`` is ours. Writing, and a pass of word2vec, are one thing each and have no ``forward_ratio``.
    """
    torch.manual_seed(0)
    x = torch.randn(sizes.batch, sizes.steps, sizes.width).to(device)
    ids = torch.randint(1, sizes.vocabulary, (sizes.batch, sizes.steps)).to(device)
    fights = [fight for name in PEERS for fight in _ready(name, sizes, x, ids, device)]
    found: list[list[dict[str, Any]]] = [[] for _ in fights]
    for _ in range(again):
        for (_, ways, *_), times in zip(fights, found, strict=True):
            times.append({name: measure(pair, rounds, 1, device=device) for name, pair in ways.items()})
    rows = []
    for ((name, against), ways, kind, error), times in zip(fights, found, strict=True):
        ratios = {way: [one[way]["theirs"] / one[way]["ours"] for one in times] for way in ways}
        own = row("peers", name, against, statistics.median(ratios["step"]), error, device, kind)
        if "forward" in ratios:
            own["forward_ratio"] = round(statistics.median(ratios["forward"]), 3)
        seconds = statistics.median(one["step"]["ours"] for one in times)
        spread = [round(end(ratios["step"]), 3) for end in (min, max)]
        rows.append(own | {"spread": spread, "seconds_per_step": float(f"{seconds:.4g}")})
    return rows


def _ready(package: str, sizes: Sizes, x: Tensor, ids: Tensor, device: str) -> Iterator[Any]:
    """Names, ways, kind and error of each duel with a package, once both have run; a line where they cannot."""
    kind = {"torch": "torch.nn", "torch.compile": "ours"}.get(package, "peer")
    try:
        version = "" if package == "torch.compile" else f"{package} {metadata.version(package).partition('+')[0]}, "
        duels = list(PEERS[package](sizes, x, ids))
    except (ImportError, metadata.PackageNotFoundError) as why:
        return print(f"{package} is left out: {type(why).__name__}: {why}", file=sys.stderr, flush=True)
    for duel in duels:
        ways = _ways(duel, device)
        both = {f"{duel.name}, {way}, {side}": run for way, pair in ways.items() for side, run in pair.items()}
        if len(that_run(both)) < len(both):
            continue
        error = max(agreement.error(pair["ours"](), pair["theirs"]()) for pair in ways.values()) if duel.same else None
        shape = "" if duel.x is None else f", B={len(duel.x)} T={sizes.steps} D={sizes.width}{duel.size}"
        yield (duel.name + shape, version + duel.against), ways, kind, error


def _ways(duel: Duel, device: str) -> dict[str, dict[str, Variant]]:
    """Forward without gradients, and a step: all gradients, of which those of x, or of the table of its ids, count."""
    both = {"ours": duel.ours, "theirs": duel.theirs}
    ways: dict[str, dict[str, Variant]] = {"forward": {}, "step": {}}
    if duel.x is None:
        return {"step": both}
    for side, model in both.items():
        model.to(device).eval()  # no dropout
        x = duel.x.clone().requires_grad_(duel.x.is_floating_point())
        first = x if x.requires_grad else next(weight for weight in model.parameters() if weight.ndim == 2)
        ways["forward"][side] = torch.no_grad()(partial(_outputs, model, x))
        ways["step"][side] = partial(_gradient, model, x, [first, *model.parameters()])
    return ways


def _outputs(model: Any, x: Tensor) -> Tensor:
    y = model(x)
    return y[0] if isinstance(y, tuple) else getattr(y, "logits", y)


def _gradient(model: Any, x: Tensor, leaves: list[Tensor]) -> Tensor:
    return torch.autograd.grad(_outputs(model, x).logsumexp(-1).sum(), leaves, allow_unused=True)[0]
