"""One small, untrained figure of each kind of widget, and what a hand does with it."""

import math
from functools import partial
from types import SimpleNamespace

import torch
from live.parity import disturb

from rtx_book.page.live.packing import pack_merges
from rtx_book.page.live_rope import LANES
from rtx_book.pictures.attention import FOUR_WORDS
from rtx_book.runs.builders import build
from rtx_book.runs.made_series import MadeSeries, forecaster
from rtx_book.runs.recipes import RECIPES
from rtx_book.runs.recipes.drawn import ABOUT
from rtx_lib.layers import GRU, LSTM, RNN, MixerStack, Readout, SelectiveRecurrence
from rtx_lib.layers.classifier import SentenceClassifier, StructuredAttention, WordConvolution
from rtx_lib.layers.mixing import AttentionMixer
from rtx_lib.models import BERT, Captioner, DeltaNet, Mamba, MemoryNetwork, TimeInvariantMamba
from rtx_lib.models.neural_gpu import NeuralGPU
from rtx_lib.models.r_transformer import LocalRNN, RTransformer
from rtx_lib.models.seq2seq import Seq2Seq
from rtx_lib.models.transformer import CausalTransformer
from rtx_lib.models.transformer_xl import TransformerXL
from rtx_lib.tasks import BytePairs, GeneratedSentiment, NumberWords, Scenes, Stories

LETTERS = "\n abcdef"
V = len(LETTERS)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "down", "."]
FRAMES = [[39], [39, 43, 60], [39, 43, 60], [], [43, 62], [43]]


@torch.no_grad()
def without_carries():
    """A network whose gates are open for good, so that its image stays; it answers 1 where one digit alone is 1."""
    net = NeuralGPU(5, 2, width=2, channels=3)
    for parameter in net.parameters():
        parameter.zero_()
    net.embedding.weight[2:4, 0] = 1.0  # 1 + 0 and 0 + 1
    net.input.weight[0, 0] = 1.0
    for cgru in net.cgrus:
        cgru.gates.bias.fill_(9.0)
    net.readout.weight[1, 0] = 10.0
    net.readout.bias.copy_(torch.tensor([3.0, 0.0]))
    return net


@torch.no_grad()
def of_one_unit(sign, keep):
    """A unit that adds 1 at a one, whose factor is told by (weight, bias); it answers odd where it holds 1."""
    model = Readout(SelectiveRecurrence(1, sign), 2, vocabulary=2)
    model.embedding.weight.copy_(torch.tensor([[0.0], [1.0]]))
    parts = [(model.core.keep, keep), (model.core.write, (1.0, 0.0)), (model.linear, ([[0.0], [2.0]], [1.0, 0.0]))]
    for part, (weight, bias) in parts:
        part.weight.copy_(torch.tensor(weight))
        part.bias.copy_(torch.tensor(bias))
    return model


def gpt():
    return CausalTransformer(V, V, vocabulary=V, width=8, heads=2, layers=2, bias=False, tied=True)


def two_readers():
    xl = TransformerXL(V, V, vocabulary=V, width=8, heads=2, layers=2, memory=4, norm="pre")
    models = {"Transformer-XL": xl, "LSTM": Readout(LSTM(V, 6), V, vocabulary=V)}
    return {"models": models, "reads": {"Transformer-XL": {"memory": 4, "segment": 5, "norm": "pre"}}}


def positions():
    schemes = ("rotary", "sinusoidal")
    models = {s: CausalTransformer(16, 16, vocabulary=16, width=16, heads=2, layers=1, positions=s) for s in schemes}
    return {"models": models, "form": "int8", "schemes": {s: s for s in schemes}, "lag": 5, "trained": 64, "heads": 2}


def words():
    task, kinds = NumberWords((1, 6)), {"additive attention": "additive", "one vector": None}
    sizes = (task.input_size, task.output_size)
    models = {name: Seq2Seq(*sizes, width=6, hidden_size=8, attention=kind).eval() for name, kind in kinds.items()}
    told = {"vocabulary": task.words, "trained": 6, "unseen": ["thousand"], "examples": {"Two sevens": "seven, seven"}}
    return {"models": models, "text": "four hundred twelve, seven", **told}


def gaps():
    model = BERT(len(WORDS), width=8, heads=2, layers=1, length=8).eval()
    told = {"words": WORDS, "mask": 4, "unknown": 1, "never": [0, 1, 2, 3, 4], "frame": [2, 3], "heads": 2}
    return {"models": {"BERT": model}, "text": "The cat _ down .", **told}


def parity():
    models = {"flips": of_one_unit("signed", (-80.0, 40.0)), "repeats": of_one_unit("positive", (0.0, -80.0))}
    return {"models": models, "trained": 6, "long": 256, "bits": "01101000"}


def write():
    told = {"reads": {"GPT": {"heads": 2}}, "characters": LETTERS, "text": "abc def\nabc def\nfed abc"}
    return {"models": {"GPT": gpt()}, **told}


def lstm():
    return {"LSTM": disturb(Readout(LSTM(V, 6), V), 0.4)}


def digits():
    scans = {"0": [[0] * 8] * 8, "1": [[0, 0, 0, 16, 8, 0, 0, 0]] * 8}
    return {"models": {"reader": disturb(Readout(RNN(8, 32), 10), 0.3)}, "scans": scans, "start": 1}


def window():
    reader = Readout(LocalRNN(16, 30, 3, cell="gru"), 6, vocabulary=6)
    return {"models": {"reader": reader}, "text": "facade bead!", "window": 3}


def tune():
    model = RTransformer(88, 88, width=8, heads=2, layers=1, window=3)
    return {"models": {"model": model}, "tunes": [FRAMES, [[50]] * 8], "heads": 2, "window": 3}


def pieces():
    vocabulary, merges = ["<unk>", *"abt", "a</w>", "t</w>", "at</w>", "bat</w>"], [("a", "t</w>"), ("b", "at</w>")]
    letters = SimpleNamespace(vocabulary=vocabulary, merges=merges)
    learned = BytePairs.learn("four hundred twelve, four hundred 你好\n" * 3, 12)
    sets = {"bytes": pack_merges(learned), "letters": pack_merges(letters)}
    return {"text": "four hundred", "presets": {"Chinese": "你好 at", "Spaces": "a   bat\tat"}, "sets": sets}


def selected():
    kinds = {"Mamba": Mamba, "time-invariant": TimeInvariantMamba}
    sizes = {"width": 8, "layers": 2, "vocabulary": 16}
    models = {name: disturb(MixerStack(16, 16, kind, **sizes), 0.3) for name, kind in kinds.items()}
    return {"models": models, "text": "." * 10 + "ab..c" + "." * 9 + "n..."}


def lookup():
    model = MixerStack(37, 37, AttentionMixer, width=8, layers=2, mlp=0, vocabulary=37)
    return {"models": {"model": disturb(model, 0.5)}, "text": "a1 b2 c3 ba"}


def scene():
    ways = {"once": "first", "at every word": "every", "looking back": "attention"}
    sizes = {"width": 4, "hidden_size": 6, "channels": 3}
    models = {name: disturb(Captioner(28, 18, told=told, **sizes), 0.3) for name, told in ways.items()}
    scans = {"small": [[[d] * 8] * 8 for d in range(10)], "big": [[[20 * d] * 11] * 11 for d in range(10)]}
    scenes = [[[3, "small", 2, 4], [7, "big", 15, 2]], [[1, "big", 0, 0], [2, "small", 12, 12], [5, "small", 2, 20]]]
    return {"models": models, "words": Scenes.words, "side": 28, "scans": scans, "scenes": scenes}


def story():
    task = Stories("two facts")
    sizes = {"sentence_length": task.sentence_length, "memory_size": task.memory_size}
    stories = [
        [["Bert went to the hall", "Bert took the ball", "Anna walked to the attic"], "Where is the ball"],
        [["Anna went to the cellar", "Anna took the lamp"], "Where is the lamp"],
    ]
    told = {"words": task.words, "length": task.sentence_length, "memory": task.memory_size, "stories": stories}
    return {"models": {"network": disturb(MemoryNetwork(task.vocabulary, **sizes, width=6, hops=2), 0.3)}, **told}


def looks():
    words, names = GeneratedSentiment.words, ("without the penalty", "with the penalty")
    parts = [{"reader": WordConvolution(6, 3), "pool": StructuredAttention(9, 5, 4)} for _ in names]
    models = [disturb(SentenceClassifier(len(words), 2, width=6, **own), 0.5, i) for i, own in enumerate(parts)]
    examples = {"short": "the plot is dull", "long": "the plot is great but the music is not very good"}
    told = {"words": words, "first": 2, "verdicts": ["against it", "for it"], "examples": examples}
    return {"models": dict(zip(names, models, strict=True)), **told}


def forecast():
    models = {about: disturb(forecaster(MadeSeries(), **how), 0.05) for about, _, how in ABOUT.values()}
    values = [350 + t / 8 + 3 * math.sin(math.tau * t / 12) for t in range(144)]
    series = {"CO2": {"values": [round(v, 1) for v in values], "unit": "ppm", "label": "month"}}
    return {"models": models, "series": series}


def fields():
    tasks = {key: {"name": key, "label": "share", "line": 0.9, "rises": True} for key in ("one", "two", "three")}
    found = dict(zip(tasks, ([1, 1, 0], [1, 0, 0], [0, 0]), strict=True))
    results = {task: {"ABC"[k]: [v, v, v, 5 * v, 5] for k, v in enumerate(own)} for task, own in found.items()}
    lanes = {lane: [lane, "#1f83d6"] for lane in "ABC"}
    return {"tasks": tasks, "lanes": lanes, "results": results, "across": "one", "up": "two"}


def rope():
    models = {name: build(RECIPES[f"rope-{lane['key']}"], 0)[0] for name, lane in LANES.items()}
    return {"models": models, "form": "int8", "lanes": LANES}


def transplant():
    delta, attention = partial(DeltaNet, kernel_size=None), partial(AttentionMixer, heads=2)
    mixers = {"GRU": lambda width: GRU(width, width), "DeltaNet": delta, "Transformer": attention}
    sizes = {"width": 8, "layers": 2, "kernel_size": 3, "vocabulary": V}
    models = {name: disturb(MixerStack(V, V, kind, **sizes), 0.3) for name, kind in mixers.items()}
    told = {"signs": LETTERS, "texts": [["abc de", "fed abc"]], "taken": 4, "dropped": 2}
    return {"models": models, "reads": {"Transformer": {"heads": 2}}, **told}


GIVEN = {  # of each kind: what `play` is given
    **{made.__name__: made for made in (digits, fields, forecast, gaps, looks, lookup, parity, pieces, positions)},
    **{made.__name__: made for made in (rope, scene, selected, story, transplant, tune, window, words, write)},
    "adder": lambda: {"models": {"adder": without_carries()}, "trained": 4, "width": 2, "first": 12, "second": 3},
    "choose": lambda: {"models": lstm(), "characters": LETTERS, "text": "abc d"},
    "guess": lambda: {"models": lstm(), "characters": LETTERS, "passages": ["abc fed", "cab dead"], "given": 4},
    "fool": lambda: parity() | {"least": {"repeats": {"flips": 2}}, "tried": 9},
    "gates": lambda: {"pulses": {3: 1, 7: 1}},
    "own": lambda: {"text": "a bed, a cab; " * 60, "limit": 1},
    "query": lambda: FOUR_WORDS["attention"],
    "integrator": lambda: {"input": "step"},
    "pulses": lambda: {"u": 0.9, "pulses": {3: 1}},
    "scan-tree": lambda: {"u": -0.7},
    "scores": lambda: {"scores": [0.0, 1.0, -1.0, 0.5, 0.2, 0.1, -0.3, 0.9], "width": 64},
    "train": lambda: {"length": 10, "hidden": 4, "batch": 2, "most": 120},  # a second of work
}


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def status(page):
    return page.locator("[role=status]").inner_text()


def told(page, begins):
    """What is said, once it begins so."""
    page.wait_for_function("(text) => document.querySelector('[role=status]').innerText.startsWith(text)", arg=begins)
    return status(page)


def row(page, name):
    """The cells of the table's row of this name."""
    return page.locator("tr", has=page.get_by_role("rowheader", name=name, exact=True)).locator("td")


def cells(page, name):
    """Their texts, with the words that are there for the ear alone."""
    return row(page, name).all_text_contents()
