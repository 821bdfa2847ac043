"""What every sequence model promises, asked of all of them: shapes, pieces, causality, devices, seeds and refusals.

A model's own file tests what it computes. A new model needs a line in the table here.
"""

import copy
import math
import re
import typing
from functools import partial

import pytest
import torch
from support.far_device import Waited, assert_equal, run, run_far
from support.helpers import relative_error
from torch import nn

from rtx_lib.layers import GRU, LSTM, RNN, AttentionMixer, Bag, MixerStack, Readout
from rtx_lib.layers.positions import SCHEMES
from rtx_lib.layers.selective import SelectiveRecurrence
from rtx_lib.layers.speculative import _cut
from rtx_lib.models.bert import BERT, BERTClassifier
from rtx_lib.models.bytenet import ByteNet
from rtx_lib.models.captioner import WAYS, Captioner
from rtx_lib.models.context_rnn import ContextRNN
from rtx_lib.models.convs2s import ConvS2S
from rtx_lib.models.deep_transition import LGRU, TGRU, DeepTransitionGRU
from rtx_lib.models.delta_net import DeltaNet, LinearAttention
from rtx_lib.models.dtmt import DTMT
from rtx_lib.models.elmo import BidirectionalLM
from rtx_lib.models.gpt import GPT, GPTClassifier
from rtx_lib.models.griffin import RGLRU, GriffinBlock
from rtx_lib.models.indrnn import IndRNNLayer, PlainIndRNN
from rtx_lib.models.jordan import JordanRNN
from rtx_lib.models.lru import LRU
from rtx_lib.models.ltsf import DLinear, NLinear
from rtx_lib.models.mamba import Mamba, MambaLM, TimeInvariantMamba
from rtx_lib.models.mamba2 import Mamba2
from rtx_lib.models.memory_network import MemoryNetwork
from rtx_lib.models.min_rnn import MinGRU, MinLSTM
from rtx_lib.models.neural_gpu import CGRU, NeuralGPU
from rtx_lib.models.patch_tst import Patched, PatchTST
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.models.qrnn import QRNN, QRNNLayer
from rtx_lib.models.r_transformer import LocalRNN, RTransformer
from rtx_lib.models.r_transformer_variants import ClonedRTransformer, PositionedRTransformer
from rtx_lib.models.retnet import MultiScaleRetention
from rtx_lib.models.s4d import S4D
from rtx_lib.models.self_attention_classifier import SelfAttentionClassifier
from rtx_lib.models.seq2seq import Seq2Seq
from rtx_lib.models.tcn import TCN
from rtx_lib.models.topic_rnn import TopicRNN
from rtx_lib.models.transformer import CausalTransformer, Encoder, Transformer
from rtx_lib.models.transformer_xl import TransformerXL
from rtx_lib.models.transformer_xl_variants import PositionedTransformerXL
from rtx_lib.models.word2vec import Word2Vec
from rtx_lib.models.xlnet import XLNet, XLNetClassifier
from rtx_lib.models.xlstm import MLSTM, SLSTM
from rtx_lib.shapes import expect

B, T, D, V = 3, 9, 3, 7  # batch, steps, inputs, vocabulary; every model has 5 outputs, or V of ids
OUT = 5
SIZE = {"width": 8, "heads": 2, "layers": 2}
LOCAL = SIZE | {"window": 3}
XL = SIZE | {"memory": T}
SEQ = {"width": 4, "hidden_size": 5}
DILATED = {"width": 6, "dilations": (1, 2, 4)}
DEEP = {"width": 4, "hidden_size": 6, "heads": 3, "encoder_depth": 1, "query_depth": 2, "decoder_depth": 1}
GATED = {"width": 4, "encoder": [(4, 3), (6, 2)], "decoder": [(4, 3), (6, 2), (6, 6)]}

MIXED = {"width": 6, "layers": 2}
TOPICS = {"topics": 4, "hidden_size": 5}
STORY = {"sentence_length": T, "memory_size": 4, "width": 5}


class Widened(nn.Module):
    """A mixer of another width than D between two linear maps."""

    def __init__(self, mixer):
        super().__init__()
        self.mixer, self.output_size = mixer, OUT
        self.inward, self.outward = nn.Linear(D, mixer.input_size), nn.Linear(mixer.output_size, OUT)

    def forward(self, x, state=None):
        y, state = self.mixer(self.inward(expect(x, ("B", "T", D), like=self.inward.weight)), state)
        return self.outward(y), state


# Forecasters read the first of the D columns, all T steps of it, and say OUT numbers of each of the next T.
FORECAST = {"lookback": T, "horizon": T, "channels": 1, "outputs": OUT}
FORECASTS = {
    "ltsf-nlinear": partial(NLinear, **FORECAST, individual=True),
    "ltsf-dlinear": partial(DLinear, **FORECAST, kernel=5),
    "patched-gru": lambda: Patched(GRU(4, 5), **FORECAST, patch=2),
    "patched-mamba": lambda: Patched(Mamba(4, 3), **FORECAST, patch=4, stride=2, norm="instance"),
    "patch-tst": partial(PatchTST, **FORECAST, patch=4, width=8, heads=2, layers=2, inner=9, dropout=0.3),
}

# Each model by the input that it reads: floats (B, T, D), ids (B, T), a pair (source, target in), or a pair
# (story, question), whose answer is one step.
FLOATS = {
    "rnn": partial(RNN, D, OUT, 2),
    "rnn-relu": partial(RNN, D, OUT, nonlinearity="relu"),
    "rnn-both-ways": partial(RNN, D, OUT, bidirectional=True),
    "lstm": partial(LSTM, D, OUT, 2),
    "lstm-fused": partial(LSTM, D, OUT, 2, backend="torch"),
    "lstm-both-ways": partial(LSTM, D, OUT, 2, bidirectional=True),
    "gru": partial(GRU, D, OUT, 2),
    "gru-fused": partial(GRU, D, OUT, 2, backend="torch"),
    "gru-fused-replaces": partial(GRU, D, OUT, 2, backend="torch", update="replaces"),
    "gru-before-replaces": partial(GRU, D, OUT, 2, reset="before", update="replaces"),
    "gru-both-ways": partial(GRU, D, OUT, 2, bidirectional=True, backend="torch"),
    "readout": lambda: Readout(GRU(D, 4), OUT),
    "readout-signed": lambda: Readout(SelectiveRecurrence(D), OUT),
    "readout-positive": lambda: Readout(SelectiveRecurrence(D, "positive"), OUT),
    "bag": partial(Bag, D, OUT),
    "mixers-lstm": partial(MixerStack, D, OUT, lambda width: LSTM(width, width), width=6, layers=2),
    "mixers-convolved": partial(MixerStack, D, OUT, lambda width: LSTM(width, width), width=6, layers=2, kernel_size=3),
    "mixers-indrnn": partial(MixerStack, D, OUT, lambda width: IndRNNLayer(width, width), **MIXED, mlp=0),
    **{
        f"mixers-{positions}": partial(MixerStack, D, OUT, partial(AttentionMixer, positions=positions), **MIXED)
        for positions in ("none", "rotary", "alibi")
    },
    "mixers-of-two-kinds": partial(MixerStack, D, OUT, [AttentionMixer, Mamba], width=6, kernel_size=3),
    "deep-transition": partial(DeepTransitionGRU, D, OUT, 2),
    "deep-transition-0": partial(DeepTransitionGRU, D, OUT, 0),
    "indrnn-layer": partial(IndRNNLayer, D, OUT),
    "indrnn": partial(PlainIndRNN, D, 8, 3, OUT, length=T),
    "indrnn-before": partial(PlainIndRNN, D, 8, 3, OUT, norm="before"),
    "indrnn-after": partial(PlainIndRNN, D, 8, 3, OUT, norm="after", dropout=0.3),
    "slstm": lambda: Readout(SLSTM(D), OUT),
    "slstm-conv": lambda: Readout(SLSTM(D, kernel_size=4), OUT),
    "mlstm": lambda: Readout(MLSTM(D, 2, block_size=3), OUT),
    "mlstm-recurrent": lambda: Readout(MLSTM(D, 1, 1.0, block_size=1, form="recurrent"), OUT),
    "jordan": partial(JordanRNN, D, 4, OUT),
    "qrnn": partial(QRNN, D, 6, 2, OUT),
    "qrnn-ifo": partial(QRNN, D, 6, 3, OUT, window=3, pooling="ifo"),
    "qrnn-layer": partial(QRNNLayer, D, OUT, window=1, pooling="f"),
    "qrnn-longer": partial(QRNNLayer, D, OUT, window=14),
    "min-gru": lambda: Readout(MinGRU(D, 6), OUT),
    "min-lstm": lambda: Readout(MinLSTM(D, 6, bias=True), OUT),
    "min-lstm-unnormalised": lambda: Readout(MinLSTM(D, normalised=False), OUT),
    "lru": lambda: Readout(LRU(D, 6), OUT),
    "s4d-convolution": lambda: Readout(S4D(D, 6), OUT),
    "s4d-recurrence": lambda: Readout(S4D(D, 4, route="recurrence"), OUT),
    "mamba": lambda: Readout(Mamba(D, 4), OUT),
    "mamba-signed": lambda: Readout(Mamba(D, 2, kernel_size=None, step_rank=2, eigenvalues="signed"), OUT),
    "mamba-zoh": lambda: Readout(Mamba(D, 2, expand=1, kernel_size=14, discretisation="zoh"), OUT),
    "mamba-invariant": lambda: Readout(TimeInvariantMamba(D, 3), OUT),
    "mamba-2": lambda: Readout(Mamba2(D, 2, 4), OUT),
    "mamba-2-groups": lambda: Readout(Mamba2(D, 6, 3, expand=4, kernel_size=None, groups=2), OUT),
    "linear-attention": lambda: Readout(LinearAttention(D, 3), OUT),
    "delta-net": lambda: Readout(DeltaNet(D), OUT),
    "delta-net-signed": lambda: Readout(DeltaNet(D, 3, largest_beta=2.0, kernel_size=None), OUT),
    "delta-net-gated": lambda: Readout(DeltaNet(D, decay="head", kernel_size=14), OUT),
    "rg-lru": lambda: Readout(RGLRU(D), OUT),
    "rg-lru-heads": lambda: Readout(RGLRU(D, heads=3), OUT),
    "griffin": lambda: Readout(GriffinBlock(D), OUT),
    "griffin-heads": lambda: Readout(GriffinBlock(D, 4, heads=2), OUT),
    "retention": lambda: Widened(MultiScaleRetention(8, 2, value_width=6)),
    "retention-heads": lambda: Widened(MultiScaleRetention(6, 3)),
    "tcn": partial(TCN, D, OUT, (6, 6), 3, dropout=0.3),
    "tcn-1": partial(TCN, D, OUT, (6, 4, 4), 1),
    "tcn-published": partial(TCN, D, OUT, (6, 4), 2, init="published"),
    "local-rnn": partial(LocalRNN, D, OUT, 3, cell="rnn"),
    "local-gru": partial(LocalRNN, D, OUT, 3),
    "local-lstm": partial(LocalRNN, D, OUT, 4, cell="lstm"),
    "local-longer": partial(LocalRNN, D, OUT, 14, cell="rnn"),
    "local-1": partial(LocalRNN, D, OUT, 1),
    "r-transformer": partial(RTransformer, D, OUT, **LOCAL, dropout=0.3),
    "r-transformer-post": partial(RTransformer, D, OUT, **LOCAL, norm="post", cell="lstm"),
    "r-transformer-clones": partial(ClonedRTransformer, D, OUT, **LOCAL, local_layers=2, final_norm=True),
    **{
        f"r-transformer-{positions}": partial(
            PositionedRTransformer, D, OUT, **LOCAL, positions=positions, length=2 * T, clip=3
        )
        for positions in ("learned", "shaw")
    },
    "encoder": partial(Encoder, D, OUT, **SIZE, dropout=0.3),
    **{
        f"transformer-{positions}": partial(
            CausalTransformer, D, OUT, **SIZE, positions=positions, length=2 * T, clip=3
        )
        for positions in SCHEMES
    },
    "transformer-post": partial(CausalTransformer, D, OUT, **SIZE, norm="post", activation="relu", dropout=0.3),
    "xl": partial(TransformerXL, D, OUT, **XL, dropout=0.3),
    "xl-pre": partial(TransformerXL, D, OUT, **XL, norm="pre", untied_uv=True, head_width=3),
    "xl-same-length": partial(TransformerXL, D, OUT, **XL, same_length=True, clamp=5),
    "xl-without-memory": partial(TransformerXL, D, OUT, **SIZE, memory=0),
    **FORECASTS,
    **{
        f"xl-{positions}": partial(PositionedTransformerXL, D, OUT, **XL, positions=positions, clip=3)
        for positions in ("rotary", "shaw")
    },
}
IDS = {
    "readout-ids": lambda: Readout(LSTM(D, 4), V, vocabulary=V),
    "rnn-of-ids": lambda: Readout(RNN(V, 4, 2), V),
    "lstm-of-ids": lambda: Readout(LSTM(V, 4, 2, backend="torch"), V),
    "gru-of-ids": lambda: Readout(GRU(V, 4, reset="before"), V),
    "indrnn-ids": partial(PlainIndRNN, D, 8, 2, V, vocabulary=V, norm="before", dropout=0.3),
    "qrnn-ids": partial(QRNN, D, 8, 2, V, vocabulary=V, pooling="f"),
    "slstm-ids": lambda: Readout(SLSTM(8, 2), V, vocabulary=V),
    "mlstm-ids": lambda: Readout(MLSTM(8, eps=1e-6), V, vocabulary=V),
    "tcn-ids": partial(TCN, V, V, (6, 6), 3, vocabulary=V),
    "elmo": partial(BidirectionalLM, V, width=5),
    "elmo-fused": partial(BidirectionalLM, V, width=5, skip=True, dropout=0.3, backend="torch"),
    "elmo-skip": partial(BidirectionalLM, V, width=5, skip=True, dropout=0.3),
    "context-rnn": lambda: ContextRNN(V, 4, 5).tell_(torch.rand(V, 4)),
    "context-lstm": lambda: ContextRNN(V, 4, 5, decay=0.5, cell="lstm").tell_(torch.rand(V, 4)),
    "topic-rnn": partial(TopicRNN, V, [0, 3], 4, 5, inference_size=6),
    "topic-gru": partial(TopicRNN, V, [1], 4, 5, window=2, inference_size=6, cell="gru"),
    "neural-gpu": partial(NeuralGPU, V, V, width=3, channels=5),
    "neural-gpu-1": partial(NeuralGPU, V, V, width=1, channels=6, layers=1, kernel_size=5, dropout=0.3),
    "r-transformer-ids": partial(RTransformer, V, V, **LOCAL, vocabulary=V, tied=True, key_heads=1),
    "encoder-ids": partial(Encoder, V, V, **SIZE, vocabulary=V, positions="learned", length=T, bias=False),
    "transformer-ids": partial(CausalTransformer, V, V, **SIZE, vocabulary=V, tied=True, bias=False),
    "gpt": partial(GPT, V, **SIZE, length=2 * T, dropout=0.3),
    "gpt-2": partial(GPT, V, **SIZE, length=2 * T, norm="pre"),
    "mamba-lm": partial(MambaLM, V, **MIXED, state_size=3),
    "bert": partial(BERT, V, **SIZE, length=T, dropout=0.3),
    "bert-left": partial(BERT, V, **SIZE, length=T, direction="left-to-right", activation="gelu_tanh"),
    "plain-gpt": partial(PlainGPT, V, **SIZE, length=T),
    "xlnet": partial(XLNet, V, **XL, dropout=0.3),
    "xl-ids": partial(TransformerXL, V, V, **XL, vocabulary=V),
}
PAIRS = {
    "seq2seq": partial(Seq2Seq, V, V, **SEQ),
    "seq2seq-additive": partial(Seq2Seq, V, V, **SEQ, attention="additive"),
    "seq2seq-dot": partial(Seq2Seq, V, V, **SEQ, attention="dot"),
    **{f"captioner-{told}": partial(Captioner, 8, V, told=told, **SEQ, channels=4) for told in WAYS},
    "bytenet": partial(ByteNet, V, V, **DILATED),
    "bytenet-even": partial(ByteNet, V, V, **DILATED, kernel_size=2, unfold=2),
    "convs2s": partial(ConvS2S, V, V, **GATED, length=2 * T, dropout=0.3),
    "convs2s-last": partial(ConvS2S, V, V, **GATED, out_width=3, attention=(False, False, True)),
    "dtmt": partial(DTMT, V, V, **DEEP),
    "dtmt-shallow": partial(DTMT, V, V, **DEEP | {"width": 5, "heads": 1, "encoder_depth": 0, "query_depth": 0}),
    **{
        f"translator-{positions}": partial(Transformer, V, V, **SIZE, positions=positions, length=2 * T, clip=3)
        for positions in SCHEMES
    },
    "translator": partial(Transformer, V, V, **SIZE, dropout=0.3),
    "translator-shared": partial(Transformer, V, V, **SIZE, norm="post", shared=True, tied=True),
}
STORIES = {
    "memory-network": partial(MemoryNetwork, V, **STORY),
    "memory-network-bag": partial(MemoryNetwork, V, **STORY, hops=1, encoding="bag", linear_steps=9),
}
MODELS = FLOATS | IDS | PAIRS | STORIES
TWICE = ["rnn-both-ways", "lstm-both-ways", "gru-both-ways", "elmo", "elmo-fused", "elmo-skip"]  # outputs of both
BOTH_WAYS = [*TWICE, "encoder", "encoder-ids", "neural-gpu", "neural-gpu-1", "bert", *FORECASTS]
STATELESS = ["encoder", "encoder-ids", "bert", "bert-left", "neural-gpu", "neural-gpu-1", "plain-gpt"]
STATELESS += ["xl-without-memory", *STORIES, *FORECASTS]
POINTWISE = ["tcn-1", "local-1"]  # no output sees an earlier input
# A state of zeros is no state: what attends to keys of zeros sees them.
FIRST_NAMES = ("rnn", "lstm", "gru", "readout", "bag", "deep", "indrnn", "tcn", "local", "qrnn", "min", "lru", "s4d")
FIRST_NAMES += ("mamba", "linear", "delta", "retention")
RECURRENT = [name for name in FLOATS if name.split("-")[0] in FIRST_NAMES]
DROPOUT = [n for n, build in MODELS.items() if "dropout" in str(getattr(build, "keywords", ""))]
RECURRENT += [name for name in FLOATS if name.startswith(("slstm", "mlstm"))]


# One model of each kind that reads and carries in a way of its own.
USUAL = ["rnn", "lstm-both-ways", "gru-fused", "indrnn", "qrnn", "slstm-conv", "mamba", "delta-net"]
USUAL += ["retention", "tcn", "r-transformer", "transformer-rotary", "xl", "readout-ids", "gpt", "elmo", "bert"]
USUAL += ["griffin", "mamba-lm", "xlnet", "seq2seq", "dtmt", "bytenet", "convs2s"]
USUAL += ["translator"]
# These and some more differ in what torch's ways, or another device, may trip over.
KINDS = [*USUAL, "lstm-fused", "gru", "indrnn-layer", "slstm", "mlstm", "lru", "rg-lru", "local-gru", "gpt-2", "lstm"]
KINDS += ["mamba-2", "s4d-convolution", "min-gru", "captioner-attention", "memory-network", "ltsf-dlinear"]
KINDS += ["patched-gru", "patch-tst"]


def names(*left_out, every_push=MODELS):
    """The models, some perhaps in every push and all of them weekly."""
    found = [name for name in MODELS if name not in left_out]
    weekly = [pytest.param(name, marks=pytest.mark.weekly) for name in found if name not in every_push]
    return pytest.mark.parametrize("name", [name for name in found if name in every_push] + weekly)


def make(name, seed=0, dtype=torch.float64):
    """The model in eval mode, with weights far enough from 0 that nothing can go missing unseen."""
    torch.manual_seed(seed)
    model = MODELS[name]().to(dtype)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if not key.endswith(".u"):
                parameter.add_(torch.randn_like(parameter) / 3)
    return model.eval()


def example(name, dtype=torch.float64, batch=B, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if name in FLOATS:
        return torch.randn(batch, T, D, generator=generator, dtype=torch.float64).to(dtype)
    ids = torch.randint(V, (batch, T), generator=generator)
    if name in IDS:
        return ids
    if name in STORIES:
        story = torch.randint(1, V, (batch, 3, T), generator=generator)
        story[-1, 1:] = story[0, 0, 4:] = 0
        return story, ids.clamp(min=1)
    if name.startswith("captioner"):
        return torch.rand(batch, 8, 8, generator=generator, dtype=torch.float64).to(dtype), ids
    source = torch.randint(1, V, (batch, 6), generator=generator)
    source[-1, 4:] = 0
    return source, ids


def steps(x, *ends):
    """The same, of some steps alone; of a pair, the source stays."""
    return (x[0], x[1][:, slice(*ends)]) if isinstance(x, tuple) else x[:, slice(*ends)]


def changed(x, step):
    """The same with another input at one step."""
    read = (x[1] if isinstance(x, tuple) else x).clone()
    read[:, step] = (read[:, step] + 1) % V if read.dtype == torch.int64 else read[:, step] + 1
    return (x[0], read) if isinstance(x, tuple) else read


def tensors(state):
    """All tensors of a state, in order."""
    if state is None or isinstance(state, torch.Tensor):
        return [] if state is None else [state]
    return [tensor for part in state for tensor in tensors(part)]


def mapped(state, function):
    if state is None or isinstance(state, torch.Tensor):
        return state if state is None else function(state)
    return tuple(mapped(part, function) for part in state)


# ---- shapes and types


@pytest.mark.parametrize("name", [name for name in MODELS if name not in FLOATS])
def test_ids_of_any_type(name):
    model, x = make(name), example(name)
    narrow = partial(torch.Tensor.to, dtype=torch.int32)
    short = tuple(p if p.is_floating_point() else narrow(p) for p in x) if isinstance(x, tuple) else narrow(x)
    assert torch.equal(model(short)[0], model(x)[0])


@names()
def test_shapes_and_dtypes(name):
    model, dtype = make(name), torch.float64
    y, state = model(example(name))
    outputs = (OUT if name in FLOATS else V) * (2 if name in TWICE else 1)
    assert y.shape == (B, 1 if name in STORIES else T, outputs) and y.dtype == dtype
    assert getattr(model, "output_size", outputs) == outputs
    assert (state is None) == (name in STATELESS)
    assert {part.dtype for part in tensors(state)} <= {dtype, torch.bool, torch.int64}
    if name not in FORECASTS:  # which read a window of one length
        assert model(steps(example(name, batch=1), 0, 1))[0].shape == (1, 1, outputs)


SMALLEST = [RNN(1, 1), LSTM(1, 1), GRU(1, 1), Readout(GRU(1, 1), 1), DeepTransitionGRU(1, 1, 0), IndRNNLayer(1, 1)]
SMALLEST += [PlainIndRNN(1, 1, 1, 1), QRNNLayer(1, 1, window=1), QRNN(1, 1, 1, 1), DeltaNet(1, decay="head")]
SMALLEST += [MinGRU(1), MinLSTM(1, 1), LRU(1, 1), S4D(1, 2), Mamba(1, 1, expand=1), Mamba2(1, 1, 1, expand=1)]
SMALLEST += [LinearAttention(1), RGLRU(1), GriffinBlock(1)]
SMALLEST += [SelectiveRecurrence(1), SelectiveRecurrence(1, "positive")]
SMALLEST += [Bag(1, 1), JordanRNN(1, 1, 1), TCN(1, 1, (1,), 1), LocalRNN(1, 1, 1)]
SMALLEST_IDS = [
    Readout(GRU(1, 1), 1, vocabulary=1),
    PlainIndRNN(1, 1, 1, 1, vocabulary=1),
    TCN(1, 1, (1,), 1, vocabulary=1),
    NeuralGPU(1, 1, width=1, channels=1, layers=1, kernel_size=1),
]


def test_the_smallest_sizes():
    for model in SMALLEST:
        assert model.eval()(torch.zeros(1, 1, 1))[0].shape == (1, 1, 1)
    for model in SMALLEST_IDS:
        assert model(torch.zeros(1, 1, dtype=torch.int64))[0].shape == (1, 1, 1)


# ---- time


def watch(model):
    """A hook on every tap, so that the readable form runs and not the fused one."""
    for module in model.modules():
        if isinstance(module, nn.Identity):
            module.register_forward_hook(lambda *_: None)
    return model


def in_pieces(model, x, cuts):
    outputs, state, begin = [], None, 0
    for length in cuts:
        y, state = model(steps(x, begin, begin + length), state)
        outputs.append(y)
        begin += length
    return torch.cat(outputs, 1), state


@names(*BOTH_WAYS, *STATELESS)
@pytest.mark.parametrize("cuts", [[4, 3, 2], [1] * T], ids=str)
def test_pieces_equal_the_whole(name, cuts):
    """Outputs, last state and, but for Transformer-XL, which stops them, gradients; the state is what does it."""
    model, x = make(name), example(name)
    (whole, last), (pieces, state) = model(x), in_pieces(watch(model) if len(cuts) == 3 else model, x, cuts)
    assert relative_error(pieces, whole) < 1e-12
    for ours, theirs in zip(tensors(state), tensors(last), strict=True):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    if not isinstance(model, TransformerXL | XLNet):
        weights, sums = list(model.parameters()), (pieces.sin().sum(), whole.sin().sum())  # one with a graph of its own
        grads = [torch.autograd.grad(y, weights, create_graph=y is sums[0], materialize_grads=True) for y in sums]
        assert all((a - b).abs().max() <= 1e-10 * b.abs().max().clamp(min=0.1) for a, b in zip(*grads, strict=True))
    if name not in POINTWISE and isinstance(x, torch.Tensor):
        assert relative_error(model(x[:, cuts[0] :])[0][:, 0], whole[:, cuts[0]]) > 1e-6


@names(*BOTH_WAYS, *STATELESS, *PAIRS)
def test_a_state_that_can_be_cut_is_that_of_fewer_steps(name):
    """Speculative decoding cuts what grew by one entry a step, and nothing else."""
    model, x = make(name), example(name)
    _, before = model(steps(x, 0, 3))
    cut = _cut(before, model(steps(x, 3, T), before)[1], T - 3, 2)
    wanted = tensors(model(steps(x, 3, 5), before)[1])
    assert cut is None or all(map(torch.allclose, tensors(cut), wanted))
    assert cut is not None or not name.startswith(("transformer", "gpt", "xl"))


@names(*STATELESS)
def test_a_state_keeps_no_more_of_a_longer_sequence(name):
    model, x = make(name), example(name)
    for part, short in zip(*(tensors(model(steps(x, 0, end))[1]) for end in (T, 5)), strict=True):
        assert part.shape != short.shape or part.untyped_storage().nbytes() == short.untyped_storage().nbytes()


@pytest.mark.parametrize("name", PAIRS)
def test_with_a_state_the_source_is_not_read_again(name):
    model, (source, target) = make(name), example(name)
    state = model((source, target[:, :4]))[1]
    one, other, none = (model((again, target[:, 4:]), state)[0] for again in (source, source * 0, None))
    assert torch.equal(one, none) and torch.equal(other, none)


@pytest.mark.parametrize("name", [name for name in PAIRS if not name.startswith("captioner")])
def test_padding_of_the_source_changes_nothing(name):
    model, (source, target) = make(name), example(name)
    padded = torch.cat([source, source[:, :2] * 0], 1)
    assert relative_error(model((padded, target))[0], model((source, target))[0]) < 1e-12


@pytest.mark.parametrize("name", RECURRENT)
def test_no_state_is_a_state_of_zeros(name):
    model, x = make(name), example(name)
    y, state = model(x)
    assert torch.equal(model(x, mapped(state, torch.zeros_like))[0], y)


@names()
def test_looking_changes_nothing(name):
    model, x = make(name), example(name)
    (before, state), (after, seen) = model(x), watch(model)(x)
    assert relative_error(after, before) < 1e-12
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(*map(tensors, (state, seen)), strict=True))


@pytest.mark.parametrize("name", [n for n in MODELS if any(hasattr(m, "backend") for m in MODELS[n]().modules())])
def test_the_written_loop_gives_the_same(name):
    """As whatever runs where none is asked for; outputs, states and gradients, from a state too."""
    model, x, outcomes = make(name), example(name), []
    weights = list(model.parameters())
    for _ in range(2):
        y, state = model(x) if name in [*TWICE, *FORECASTS] else in_pieces(model, x, [4, 5])
        parts = [part.double() for part in tensors(state) if part.numel()]
        outcomes.append([y, *parts, *torch.autograd.grad(y.sin().sum(), weights, materialize_grads=True)])
        for module in model.modules():
            if hasattr(module, "backend"):
                module.backend = "loop"
    assert all((a - b).abs().max() <= 1e-10 * b.abs().max().clamp(min=0.1) for a, b in zip(*outcomes, strict=True))


@names(*BOTH_WAYS, *STORIES, "s4d-convolution")  # an FFT's rounding depends on all that it reads
def test_no_output_depends_on_a_later_input(name):
    """And each depends on its own and, but for what has no memory, on the first."""
    model, x = make(name), example(name)
    before = model(x)[0]
    for t in range(T):
        after = model(changed(x, t))[0]
        assert torch.equal(after[:, :t], before[:, :t]), f"the input at {t} moves an earlier output"
        assert not torch.equal(after[:, t], before[:, t])
    assert torch.equal(model(changed(x, 0))[0][:, -1], before[:, -1]) == (name in [*POINTWISE, *NEAR])


# Their reach is shorter than T.
NEAR = ["tcn-published", "local-rnn", "local-gru", "local-lstm", "bytenet-even"]


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_what_reads_both_ways_sees_the_last_input_at_once(name):
    model, x = make(name), example(name)
    assert not torch.equal(model(changed(x, T - 1))[0][:, 0], model(x)[0][:, 0])


@names()
def test_sequences_of_a_batch_do_not_meet(name):
    model, x = make(name), example(name)
    y, _ = model(x)
    for b in range(B):
        alone, _ = model(tuple(part[b : b + 1] for part in x) if isinstance(x, tuple) else x[b : b + 1])
        assert relative_error(alone, y[b : b + 1]) < 1e-12


# ---- gradients, weights and devices


@names("local-1", "xlnet")  # a window of one step has no use for W_hh; without segments b and s have none
def test_gradients_reach_every_weight(name):
    model = make(name).train()
    y, _ = model(example(name, batch=5))
    y.sin().sum().backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all() and parameter.grad.any(), key


# Rates of state space models, the forget biases of an sLSTM and the like start by a formula.
GIVEN = (".A_log", ".log_A_real", ".A_imag", "core.B", "core.bias")


@names()
def test_a_seed_decides_the_weights(name):
    one, same, other = (weights_of(name, seed) for seed in (1, 1, 2))
    assert all(torch.equal(one[key], same[key]) for key in one)
    for key, value in one.items():
        constant = key.endswith(GIVEN) or (value.ndim < 2 and bool((value == value.flatten()[0]).all()))
        constant = constant or not value.any()
        assert constant or not torch.equal(value, other[key]), key


def weights_of(name, seed):
    torch.manual_seed(seed)
    return MODELS[name]().state_dict()


@names()
def test_weights_survive_a_state_dict(name):
    one, other, x = make(name, 1), make(name, 2), example(name)
    assert not torch.equal(one(x)[0], other(x)[0])
    other.load_state_dict(copy.deepcopy(one.state_dict()))
    assert torch.equal(one(x)[0], other(x)[0])


@pytest.mark.parametrize("name", DROPOUT)
def test_dropout_acts_in_training_alone_and_can_be_repeated(name):
    model, x = make(name), example(name)
    quiet = model(x)[0]
    assert torch.equal(model(x)[0], quiet)
    model.train()
    torch.manual_seed(1)
    first, other = model(x)[0], model(x)[0]
    torch.manual_seed(1)
    assert torch.equal(model(x)[0], first) and not torch.equal(first, other)


@names(every_push=KINDS)
def test_on_a_device_nothing_is_mixed_and_nothing_waits(name):
    """Forward, the carried state and backward: all results of the pretended device are those of the CPU."""
    model, x = make(name, dtype=torch.float32), example(name, torch.float32)
    far = run_far(model, x)
    assert_equal(far, run(model, x))


def has_fused_autocast():
    """oneDNN, which runs torch's own LSTM under autocast, has it for some processors only."""
    try:
        with torch.autocast("cpu", torch.bfloat16):
            nn.LSTM(D, OUT, 2, batch_first=True)(torch.zeros(B, T, D))
    except RuntimeError:
        return False
    return True


@names()
def test_less_precision(name):
    """Half the bits give what all of them give, or are refused by name; so does autocast, in pieces."""
    model, x = make(name), example(name)
    y = model(x)[0].detach()
    for dtype in (torch.float32, torch.bfloat16):
        low = copy.deepcopy(model).to(dtype)
        try:
            half, state = low(example(name, dtype))
        except ValueError as error:
            assert "indrnn" in name and str(dtype) in str(error)
            continue
        assert half.dtype == dtype
        assert {part.dtype for part in tensors(state)} <= {dtype, torch.float32, torch.bool, torch.int64}
        assert relative_error(half.double(), y) < (1e-4 if dtype == torch.float32 else 0.15)
    if name in ("lstm-fused", "elmo-fused", "captioner-first", "captioner-every") and not has_fused_autocast():
        return
    single, x = copy.deepcopy(model).float(), example(name, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        pieces = single(x)[0] if name in [*BOTH_WAYS, *STATELESS] else in_pieces(single, x, [4, 5])[0]
    pieces.float().square().sum().backward()
    assert relative_error(pieces.double(), y) < 0.15
    assert all(p.grad is None or p.grad.isfinite().all() for p in single.parameters())


@torch.no_grad()
@pytest.mark.parametrize("name", ["bag", "linear-attention", "delta-net", "mamba-2", "retention", "mlstm"])
def test_a_sum_grows_step_by_step_in_half_precision_too(name):
    model, x = make(name, dtype=torch.bfloat16), example(name, torch.bfloat16).repeat(1, 100, 1)
    whole, pieces = model(x)[0], in_pieces(model, x, [1] * x.shape[1])[0]
    assert relative_error(pieces[:, -T:].float(), whole[:, -T:].float()) < 0.03


# ---- the tests above see what they are for


class Planted(nn.Module):
    """A right model and one mistake."""

    def __init__(self, mistake):
        super().__init__()
        self.core, self.mistake = GRU(D, OUT), mistake

    def forward(self, x, state=None):
        return self.mistake(self, *self.core(x, state))


PLANTED = {
    "one step ahead": (test_no_output_depends_on_a_later_input, lambda m, y, h: (y.roll(-1, 1), h)),
    "a mean over time": (test_no_output_depends_on_a_later_input, lambda m, y, h: (y - y.mean(1, True), h)),
    "a state forgotten": (test_pieces_equal_the_whole, lambda m, y, h: (y, h * 0)),
    "a state cut off": (test_pieces_equal_the_whole, lambda m, y, h: (y, h.detach())),
    "the state of the step before": (test_pieces_equal_the_whole, lambda m, y, h: (y, y[None, :, -2:][:, :, 0])),
    "a mean over the batch": (test_sequences_of_a_batch_do_not_meet, lambda m, y, h: (y - y.mean(0), h)),
    "single precision": (test_shapes_and_dtypes, lambda m, y, h: (y.float(), h)),
    "an output cut off": (test_gradients_reach_every_weight, lambda m, y, h: (y.detach() + 0 * y, h)),
    "a look at a value": (test_on_a_device_nothing_is_mixed_and_nothing_waits, lambda m, y, h: (y * y.max().item(), h)),
    "noise": (test_weights_survive_a_state_dict, lambda m, y, h: (y + torch.rand(()), h)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_seen(name, monkeypatch):
    test, mistake = PLANTED[name]
    monkeypatch.setitem(MODELS, "gru", lambda: Planted(mistake))
    with pytest.raises((AssertionError, Waited)):
        test("gru", **({"cuts": [4, 3, 2]} if test is test_pieces_equal_the_whole else {}))


# ---- refusals: how each check of rtx_lib.shapes words them is tested in test_shapes.py; here, that models ask


CORE, NET, MIXER = {"input_size": 3, "hidden_size": 4}, {"input_size": 3, "output_size": 2}, {"width": 4}
SERIES = {"lookback": 8, "horizon": 3, "channels": 2}
WORDS, TWO = {"vocabulary": V}, {"source_vocabulary": V, "target_vocabulary": V}
PLAIN = CORE | {"num_layers": 2, "output_size": 1}
CONVOLVED = NET | {"channels": (5,), "kernel_size": 3}
SENTENCE = WORDS | {"output_size": 2, "width": 8}
# Arguments that each constructor takes, and others that it refuses beside the wrong sizes, choices and shares that its
# signature tells of: numbers out of bounds, members of sequences, and what does not go together.
CONSTRUCTORS = [
    *((kind, CORE, {}) for kind in (Bag, LGRU, IndRNNLayer, QRNNLayer)),
    *((kind, MIXER, {}) for kind in (SelectiveRecurrence, MinLSTM, LinearAttention, RGLRU, GriffinBlock)),
    *((kind, WORDS | SIZE, {}) for kind in (GPT, XLNet)),
    (MambaLM, WORDS | MIXED, {}),
    (RNN, CORE, {"input_std": 0.0}),
    (LSTM, CORE, {"forget_bias": math.inf, "backend": "cudnn"}),
    (GRU, CORE | {"reset": "before"}, {"backend": "torch"}),
    (Readout, {"core": RNN(3, 4), "output_size": 2}, {}),
    (TGRU, {"hidden_size": 4}, {}),
    (DeepTransitionGRU, CORE | {"transitions": 1}, {}),
    (DTMT, TWO | DEEP, {"heads": 4}),
    (AttentionMixer, {"width": 8}, {"positions": "learned"}),
    (partial(MixerStack, mixer=AttentionMixer), NET | MIXED, {"layers": 0, "mlp": -0.5, "kernel_size": 0}),
    (PlainIndRNN, PLAIN, {"magnitude": 0.5, "keep": 1.1, "input_scale": 0.0, "dropout": 1.0}),
    (JordanRNN, CORE | {"output_size": 2}, {}),
    (QRNN, PLAIN, {}),
    (LRU, MIXER, {"r_min": 1.0, "r_max": 1.1, "max_phase": 7.0}),
    (S4D, MIXER, {"state_size": 3}),
    (Mamba, MIXER, {}),
    (Mamba2, MIXER | {"heads": 4}, {"groups": 3}),
    (DeltaNet, MIXER, {"largest_beta": 2.1}),
    (MultiScaleRetention, MIXER | {"heads": 2}, {"value_width": 3, "width": 6, "eps": -1.0}),
    (TCN, CONVOLVED, {"channels": ()}),
    (CGRU, {"channels": 3}, {"cutoff": 0.9, "kernel_size": 2}),
    (NeuralGPU, WORDS | {"output_size": 2}, {"kernel_size": 4}),
    (LocalRNN, CORE | {"window": 3}, {}),
    (NLinear, SERIES, {"outputs": 0}),
    (DLinear, SERIES, {"outputs": "lognormal", "kernel": 4}),
    (partial(Patched, GRU(2, 4)), SERIES | {"patch": 2}, {"patch": 9, "stride": 3, "norm": "mean", "head": "first"}),
    (PatchTST, SERIES | {"patch": 4}, {"patch": 3, "lookback": 3, "heads": 3}),
    (RTransformer, NET | LOCAL | {"norm": "post"}, {"final_norm": True, "tied": True}),
    (Encoder, NET | SIZE, {"heads": 3, "norm": "middle", "activation": "sine", "dropout": 1.5}),
    (CausalTransformer, NET | SIZE, {"heads": 3, "layers": 0, "tied": True, "positions": "gps"}),
    (BERT, WORDS | SIZE, {"activation": "sine"}),
    (partial(PlainGPT, V), {}, {"width": 10}),
    (GPTClassifier, {"gpt": GPT(V, **SIZE), "classes": 2}, {}),
    (BERTClassifier, {"bert": BERT(V, **SIZE), "output_size": 2}, {}),
    (XLNetClassifier, {"model": XLNet(V, **SIZE), "output_size": 2}, {}),
    (TransformerXL, NET | XL | {"same_length": True}, {"memory": 0}),
    (partial(PositionedTransformerXL, positions="shaw"), NET | XL, {"heads": 3}),
    (ByteNet, TWO | DILATED, {"dilations": (), "unfold": 0.9, "width": 5}),
    (ConvS2S, TWO | GATED, {"encoder": (), "decoder": [(4,)], "attention": [False] * 3, "dropout": 1.0}),
    (BidirectionalLM, WORDS | {"width": 3}, {"backend": "cudnn"}),
    (MLSTM, MIXER, {"expand": 0.0, "block_size": 3, "eps": -1e-6}),
    (Seq2Seq, TWO | SEQ, {}),
    (Captioner, WORDS | SEQ | {"picture": 8}, {"picture": 6}),
    (Word2Vec, WORDS | {"width": 4}, {}),
    (MemoryNetwork, WORDS | STORY, {}),
    (ContextRNN, WORDS | TOPICS, {"decay": 1.0}),
    (TopicRNN, WORDS | TOPICS | {"stop_words": [0]}, {}),
    (Transformer, TWO | SIZE, {"heads": 3, "layers": 0}),
    (SelfAttentionClassifier, SENTENCE, {"positions": "xl"}),
]
LATER = {"backend", "padding", "clip", "clamp"}  # looked at where they are used, if at all
LATER |= {(RTransformer, "length"), (RTransformer, "embedding_dropout")}


def wrong_arguments(build):
    """A wrong value for every size, choice and share that the constructor's signature names."""
    for name, hint in typing.get_type_hints(build.__init__).items() if isinstance(build, type) else ():
        if name in LATER or (build, name) in LATER:
            continue
        if hint in (int, int | None):
            yield from [(name, -1)] + [(name, 5)] * (name == "heads")
        elif hint in (str, str | None):
            yield name, "nonsense"
        elif "dropout" in name:
            yield from [(name, -0.1), (name, 1.5)]


@pytest.mark.parametrize("build, good, bad", CONSTRUCTORS)
def test_a_constructor_names_what_it_refuses(build, good, bad):
    build(**good)
    for argument, value in [*bad.items(), *wrong_arguments(build)]:
        called = "(positions|scheme)" if argument == "positions" else argument
        words = rf"^{called}\b.* got .*{re.escape(str(value))}"
        if value == -1:  # in torch's words, or by a size that goes with it
            words += r"|-\d|negative|greater than zero"
        with pytest.raises((ValueError, RuntimeError), match=words):
            build(**good | {argument: value})


WRONG_FLOATS = {
    "width": lambda x: x[..., 1:],
    "no step": lambda x: x[:, :0],
    "another dtype": lambda x: x.half(),
    "another device": lambda x: x.to("meta"),
}
WRONG_IDS = {
    "no step": lambda x: x[:, :0],
    "another dtype": lambda x: x.double(),
    "too large": lambda x: x.clamp(min=V),
    "negative": lambda x: -1 - x,
}


@pytest.mark.parametrize("name", [*USUAL, "plain-gpt"])
def test_what_users_get_wrong_about_inputs(name):
    model, x = make(name), example(name)
    for spoil in (WRONG_FLOATS if name in FLOATS else WRONG_IDS).values():
        with pytest.raises(ValueError, match=r"^(x|source|target.in) must .* got "):
            model((x[0], spoil(x[1])) if isinstance(x, tuple) else spoil(x))
        if isinstance(x, tuple):
            with pytest.raises(ValueError, match=r"^source.* must .* got "):
                model((spoil(x[0]), x[1]))


@pytest.mark.parametrize("name", [name for name in USUAL if name in PAIRS])
def test_wrong_pairs(name):
    model, (source, target) = make(name), example(name)
    for x in (source, (source,), (source, target, target)):
        with pytest.raises(ValueError, match=r"^x must be a .* got"):
            model(x)
    for x in ((source[:2], target), (None, target), (source * 0, target)):
        with pytest.raises(ValueError, match=r"^source .*must .*, got"):
            model(x)


STATE = r"^(state|cache|memory|mask)\b.* must .*got"
WRONG_STATES = {
    "width": lambda part: part[..., 1:],
    "batch": lambda part: part[:, 1:] if part.shape[0] != B else part[1:],
    "another dtype": lambda part: part.half(),
    "another device": lambda part: part.to("meta"),
    "none": lambda part: None,
}


@pytest.mark.parametrize("wrong", WRONG_STATES)
@pytest.mark.parametrize("name", [name for name in USUAL if name not in STATELESS])
def test_what_users_get_wrong_about_states(name, wrong):
    """Each tensor of the state in turn; where a mask lies is not looked at."""
    model, x = make(name), example(name)
    state = model(x)[1]
    for part in tensors(state):
        if part.dtype == torch.bool and wrong == "another device":
            continue
        other = WRONG_STATES[wrong](part)
        bad = mapped(state, lambda each, part=part, other=other: other if each is part else each)
        with pytest.raises(ValueError, match=STATE):
            model(x, (None,) if bad is None else bad)


@pytest.mark.parametrize("name", [name for name in USUAL if name not in STATELESS])
def test_a_state_of_another_form(name):
    model, x = make(name), example(name)
    state = model(x)[1]
    bad = [(state, state), "state"] if isinstance(state, torch.Tensor) else [state[:-1], {*state}, state[0], ()]
    for form in bad:
        with pytest.raises(ValueError, match=STATE):
            model(x, form)


@pytest.mark.parametrize("name", ["bert", "bert-left", "neural-gpu", "memory-network"])
def test_what_reads_a_whole_takes_no_state(name):
    with pytest.raises(ValueError, match=r"^state must be None"):
        make(name)(example(name), torch.zeros(1))
