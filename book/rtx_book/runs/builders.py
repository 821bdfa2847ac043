"""What a recipe names: its model and task, and the optimiser and schedules that train it."""

import fnmatch
import functools
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from rtx_book.runs import pretrained
from rtx_book.runs.fine_tuning import WithAuxiliary
from rtx_book.runs.made_series import MadeSeries, forecaster
from rtx_book.runs.mixers import mixers
from rtx_book.runs.recipes import Recipe
from rtx_book.runs.recipes.recipe import SEED
from rtx_book.runs.rope import CopyBehindNoise
from rtx_book.runs.statisticians import Statistician
from rtx_lib import models, tasks
from rtx_lib.layers import GRU, LSTM, RNN, Bag, BothWays, Readout, SampleStdNorm, SentenceClassifier, WordConvolution
from rtx_lib.layers.attention import MultiHeadAttention
from rtx_lib.models.glove import cooccurrences, fit_glove
from rtx_lib.models.lora import add_lora
from rtx_lib.models.word2vec import cumulative_table, fit_word2vec, keep_probability
from rtx_lib.tasks.download import fetch
from rtx_lib.tasks.vocabulary import PAD, SPECIAL
from rtx_lib.training import fit
from rtx_lib.training.schedules import drop_on_plateau, staircase, warmup_constant, warmup_cosine


def _few_labels(weights: str, auxiliary: float = 0.0, source: str = "subj", **how: Any) -> Any:
    """Sentences in the words of some weights."""
    task = tasks.SentenceClasses(source, words=pretrained.vocabulary(weights), framed=True, **how)
    return WithAuxiliary(task, auxiliary) if auxiliary else task


_few_labels.files = tasks.SentenceClasses.files  # type: ignore[attr-defined]


def _series(source: str, **how: Any) -> Any:
    """ETTh1 or ETTh2, or one of the series that come with statsmodels, by its name there."""
    if source in tasks.ETT.files:
        return tasks.ETT(source, **how)
    from statsmodels import datasets

    data = getattr(datasets, source).load_pandas().data
    if source == "elnino":  # a row a year, a column a month
        data = data.to_numpy()[:, 1:].ravel()
    elif source == "sunspots":
        data = data["SUNACTIVITY"].to_numpy()
    seasons = {"co2": 52, "elnino": 12, "sunspots": 11}
    return tasks.SeriesTask(data, season=seasons[source], missing="previous", **how)


_series.files = {name: () for name in ("co2", "elnino", "sunspots")} | tasks.ETT.files  # type: ignore[attr-defined]


def _in_three(source: str = "shakespeare", length: int = 64) -> Any:
    """The text of :class:`rtx_lib.tasks.CharacterText`, of which "valid" is the tenth in front of the test text."""
    return tasks.TextTask(fetch(*tasks.CharacterText.files[source]), length)


_in_three.files = tasks.CharacterText.files  # type: ignore[attr-defined]
TASKS: dict[str, Callable[..., Any]] = {
    "adding": tasks.AddingProblem,
    "binary-addition": tasks.BinaryAddition,
    "copy": tasks.CopyMemory,
    "copy-behind-noise": CopyBehindNoise,
    "digits": tasks.SequentialDigits,
    "mnist": tasks.MNIST,
    "lag": tasks.Lag,
    "number-words": tasks.NumberWords,
    "scenes": tasks.Scenes,
    "stories": tasks.Stories,
    "text": tasks.CharacterText,
    "text-in-three": _in_three,
    "music": tasks.PolyphonicMusic,
    "ptb": tasks.PennTreebank,
    "topics": tasks.TopicText,
    "sentiment": tasks.Sentiment,
    "generated-sentiment": tasks.GeneratedSentiment,
    "masked-text": tasks.MaskedText,
    "causal-text": tasks.CausalText,
    "both-ways-text": tasks.BothWaysText,
    "few-labels": _few_labels,
    "parts-of-speech": tasks.PartsOfSpeech,
    "word-sense": tasks.WordSense,
    "next-symbol": tasks.NextSymbol,
    "look-up": tasks.LookUp,
    "word-pairs": tasks.WordPairs,
    "atlas": tasks.Atlas,
    "instructions": tasks.Instructions,
    "parity": tasks.Parity,
    "group-words": tasks.GroupWords,
    "recall": tasks.AssociativeRecall,
    "selective-copying": tasks.SelectiveCopying,
    "series": _series,
    "made-series": MadeSeries,
}


def _core(core: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """A recurrent core, which gets a readout."""
    return lambda task, **how: Readout(core(task.input_size, **how), task.output_size, vocabulary=task.vocabulary)


def _words(core: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """A core that reads words through an embedding as wide as itself."""
    return lambda task, hidden_size: Readout(
        core(hidden_size, hidden_size), task.output_size, vocabulary=task.input_size
    )


def _in_context(task: Any, topics: int, **how: Any) -> nn.Module:
    """Told what LDA says of the task's words."""
    return models.ContextRNN(task.vocabulary, topics, **how).tell_(task.word_topics(topics))


def _whole(model: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """A model that embeds its inputs and has an output layer."""
    return lambda task, **how: model(task.input_size, output_size=task.output_size, vocabulary=task.vocabulary, **how)


def _given(model: Callable[..., nn.Module], *sizes: str) -> Callable[..., nn.Module]:
    """A model that begins with these sizes of the task."""
    return lambda task, **how: model(*(getattr(task, size) for size in sizes), **how)


def _sentence(reader: Callable[..., nn.Module] | None, pool: str = "mean") -> Callable[..., nn.Module]:
    """A classifier of whole sentences; ``reader`` takes the width of the embeddings and what is its own."""

    def build(task: Any, width: int, dropout: float, **how: Any) -> nn.Module:
        read = None if reader is None else reader(width, **how)
        return SentenceClassifier(
            task.vocabulary, task.output_size, width=width, reader=read, pool=pool, dropout=dropout
        )

    return build


def _bilstm(width: int, hidden_size: int) -> nn.Module:
    return BothWays(*(LSTM(width, hidden_size, backend="torch") for _ in range(2)))


def _begun(model: Callable[..., nn.Module], table: str) -> Callable[..., nn.Module]:
    """A model of ids; with ``start`` "word2vec" its table of embeddings begins with the vectors of skip-gram."""

    def build(task: Any, start: str | None = None, **how: Any) -> nn.Module:
        made = model(task.vocabulary, **how)
        if start is not None:
            weight: Any = made.get_parameter(f"{table}.weight")
            with torch.no_grad():
                weight.copy_(word_vectors(task.rows.ids["train"], *weight.shape))
        return made

    return build


def _bert_sentences(
    task: Any, weights: str, *, trained: bool = True, domain_steps: int = 0, changes: str = "all", rank: int = 0
) -> nn.Module:
    """BERT from the book's weights, or as they began, with a layer for classes.

    With ``domain_steps`` it first goes on with masked words for so many steps, on the task's own training sentences,
    which need no labels for that. ``changes`` says what is trained beside the layer for classes: "all", "nothing", the
    "words", or the "attention"; the last two by LoRA if there is a rank.
    """
    bert, _ = pretrained.load(weights, trained=trained)
    if domain_steps:
        bert.load_state_dict(_in_domain(weights, trained, task.source, task.length, domain_steps))
    bert.requires_grad_(changes == "all")
    part = bert.encoder.embedding if changes == "words" else bert.encoder.stack
    if rank:
        add_lora(part, rank, kinds=(nn.Embedding, MultiHeadAttention))
    elif changes == "words":
        part.requires_grad_(True)
    return models.BERTClassifier(bert, task.output_size, kind="mean", dropout=0.1)


@functools.lru_cache(maxsize=2)
def _in_domain(weights: str, trained: bool, source: str, length: int, steps: int) -> dict[str, Tensor]:
    """The parameters after so many steps on the sentences of a source; the same whatever the seed of the run."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        bert, words = pretrained.load(weights, trained=trained)
        text = tasks.MaskedText(source, words=words, length=length, share=0.3, places=True)
        adam, schedule = torch.optim.Adam(bert.parameters(), lr=1e-3), warmup_cosine(steps, steps // 20)
        fit(bert, text, steps=steps, batch_size=32, optimizer=adam, schedule=schedule, clip=1.0, progress=False)
    return bert.state_dict()


def _gpt_sentences(task: Any, weights: str, *, trained: bool = True, auxiliary: bool = False) -> nn.Module:
    """GPT from the book's weights, or as they began, with a layer for classes."""
    gpt, _ = pretrained.load(weights, trained=trained)
    return models.GPTClassifier(gpt, task.output_size, auxiliary=auxiliary, dropout=0.1)


def _vector_sentences(task: Any, weights: str, **how: Any) -> nn.Module:
    """A linear layer on the mean of vectors that words have from the source's sentences, and keep; no weights."""
    text = tasks.MaskedText(task.source, words=task.words)
    vectors = 20 * word_vectors(text.rows.ids["train"], task.vocabulary, **how)  # of a deviation of 1
    model = SentenceClassifier(len(vectors), task.output_size, width=vectors.shape[1])
    model.embedding = nn.Embedding.from_pretrained(vectors, padding_idx=PAD)
    return model


def word_vectors(
    rows: Tensor, vocabulary: int, width: int, *, passes: int = 3, rate: float = 0.025, **how: Any
) -> Tensor:
    """Vectors (V, D), trained on rows of ids (N, T), with mean 0 and a standard deviation of 0.05.

    They are skip-gram's, whose number of ``negatives`` may be given, or with an ``x_max`` GloVe's; windows reach 5
    words to either side. What never occurs, and the special tokens, are drawn with the same deviation.
    """
    generator, special = torch.Generator().manual_seed(int(torch.randint(2**31, ()))), range(len(SPECIAL))
    texts = [[number for number in row if number not in special] for row in rows.tolist()]
    if "x_max" in how:
        glove, counts = models.GloVe(vocabulary, width), cooccurrences(texts, vocabulary, window=5)
        fit_glove(glove, counts, passes, lr=rate, generator=generator, **how)
        table, seen = glove.inputs + glove.outputs, counts.any(1)
    else:
        pairs = tasks.SkipGrams(texts, vocabulary, keep=keep_probability, noise=cumulative_table, **how)
        model = models.Word2Vec(vocabulary, width)
        fit_word2vec(model, pairs.passes(passes, generator=generator), rate)
        table, seen = model.inputs, pairs.counts > 0
    vectors = torch.randn(vocabulary, width, generator=generator)
    found = table.detach()[seen]
    vectors[seen] = (found - found.mean(0)) / found.std()
    return 0.05 * vectors


def _captioner(task: Any, **how: Any) -> nn.Module:
    """A captioner whose convolutions have learned to name single digits, and stay as they are."""
    model = models.Captioner(task.input_size, task.output_size, **how)
    model.convolutions.load_state_dict(_looked(task.input_size, model.places.shape[1]))
    model.convolutions.requires_grad_(False)
    return model


@functools.lru_cache(maxsize=2)
def _looked(picture: int, channels: int, steps: int = 1000) -> dict[str, Tensor]:
    """Convolutions after so many steps on scenes of one digit, whose value and size are read off each channel's most.

    They are the same whatever the seed of the run.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        task, generator = tasks.Scenes((1, 1)), torch.Generator().manual_seed(0)
        look = models.Captioner(picture, task.output_size, channels=channels).convolutions
        net = nn.Sequential(look, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(channels, 20))
        adam, schedule = torch.optim.Adam(net.parameters(), lr=4e-3), warmup_cosine(steps, 30)
        rates = torch.optim.lr_scheduler.LambdaLR(adam, schedule)
        for _ in range(steps):
            (x, _), y = task.batch("train", 64, generator)
            label = 10 * (y[:, 1] - 4) + y[:, 2] - 8  # of a, size, value, end
            adam.zero_grad()
            nn.functional.cross_entropy(net(x[:, None]), label).backward()
            adam.step()
            rates.step()
    return look.state_dict()


def _transformer_xl(task: Any, **how: Any) -> nn.Module:
    """With the paper's positions, or those that ``positions`` names."""
    if how.get("positions", "xl") == "xl":
        return _whole(models.TransformerXL)(task, **{key: value for key, value in how.items() if key != "positions"})
    return _whole(models.PositionedTransformerXL)(task, **how)


# A recipe is written to a file, so it names the norm.
NORM_LAYERS: dict[str, Callable[..., nn.Module]] = {"layer": nn.LayerNorm, "sample-std": SampleStdNorm}


def _r_transformer(task: Any, norm_layer: str = "layer", start: str = "independent", **how: Any) -> nn.Module:
    """With or without positions, from weights of its own or the authors' clones."""
    if how.get("positions") == "none":
        del how["positions"]
    plain = models.PositionedRTransformer if "positions" in how else models.RTransformer
    kind = models.ClonedRTransformer if start == "clones" else plain
    return _whole(kind)(task, norm_layer=NORM_LAYERS[norm_layer], **how)


def _linear(model: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """A forecaster that is one matrix, or two."""
    return lambda task, **how: model(task.lookback, task.horizon, len(task.channels), outputs=_outputs(task), **how)


def _patched(task: Any, core: str, core_arguments: dict[str, Any], width: int, **how: Any) -> nn.Module:
    """One of ``MODELS`` of this width, which reads patches of a series."""
    inner = SimpleNamespace(input_size=width, output_size=width, vocabulary=None)
    made = MODELS[core](inner, **core_arguments)
    size = (task.lookback, task.horizon, len(task.channels))
    return models.Patched(made, *size, outputs=_outputs(task), width=(width, width), **how)


def _outputs(task: Any) -> int | str:
    """What a forecaster says of each value."""
    return "normal" if task.normal else max(1, len(task.levels))


MODELS: dict[str, Callable[..., nn.Module]] = {
    "rnn": _core(RNN),
    "lstm": _core(LSTM),
    "gru": _core(GRU),
    "bag": _core(Bag),
    "word-rnn": _words(RNN),
    "word-lstm": _words(partial(LSTM, backend="torch")),
    "context-rnn": _in_context,
    "topic-rnn": lambda task, **how: models.TopicRNN(task.vocabulary, task.stop_words, **how),
    "deep-gru": _core(models.DeepTransitionGRU),
    "indrnn": _whole(models.PlainIndRNN),
    "qrnn": _whole(models.QRNN),
    "mixers": mixers,
    "seq2seq": _given(models.Seq2Seq, "input_size", "output_size"),
    "dtmt": _given(models.DTMT, "input_size", "output_size"),
    "captioner": _captioner,
    "forecaster": forecaster,
    "memory-network": lambda task, **how: models.MemoryNetwork(
        task.vocabulary, sentence_length=task.sentence_length, memory_size=task.memory_size, **how
    ),
    "bytenet": _given(models.ByteNet, "input_size", "output_size"),
    "convs2s": _given(models.ConvS2S, "input_size", "output_size"),
    "transformer": _given(models.Transformer, "input_size", "output_size"),
    "causal-transformer": _whole(models.CausalTransformer),
    "r-transformer": _r_transformer,
    "transformer-xl": _transformer_xl,
    "tcn": _whole(models.TCN),
    "sentence-mean": _sentence(None),
    "vector-sentences": _vector_sentences,
    "sentence-rnn": _sentence(lambda width, hidden_size: BothWays(RNN(width, hidden_size))),
    "sentence-bilstm": _sentence(_bilstm),
    "sentence-convolution": _sentence(WordConvolution, "max"),
    "self-attention-classifier": _given(models.SelfAttentionClassifier, "vocabulary", "output_size"),
    "neural-gpu": _given(models.NeuralGPU, "vocabulary", "output_size"),
    "bert": _begun(models.BERT, "encoder.embedding"),
    "bert-sentences": _bert_sentences,
    "gpt": _begun(models.GPT, "embedding"),
    "gpt-sentences": _gpt_sentences,
    "elmo": _given(models.BidirectionalLM, "vocabulary"),
    "xlnet": _given(models.XLNet, "vocabulary"),
    "xlnet-denoising": lambda task, **how: models.Denoising(models.XLNet(task.vocabulary, **how)),
    "plain-gpt": _given(models.PlainGPT, "vocabulary"),
    "patched": _patched,
    "nlinear": _linear(models.NLinear),
    "dlinear": _linear(models.DLinear),
    "statistician": Statistician,
}


def build(recipe: Recipe, seed: int) -> tuple[nn.Module, Any]:
    """The recipe's model, initialised from the seed, and its task; ``ValueError`` for a name that is not known."""
    if recipe.model not in MODELS:
        raise ValueError(f"model must be one of {sorted(MODELS)}, got {recipe.model!r}")
    task = task_of(recipe, seed)
    torch.manual_seed(seed)
    return MODELS[recipe.model](task, **recipe.model_arguments), task


def task_of(recipe: Recipe, seed: int) -> Any:
    """A recipe's task, as a run with this seed draws it.

    Raises
    ------
    ValueError
        For an unknown task.
    """
    if recipe.task not in TASKS:
        raise ValueError(f"task must be one of {sorted(TASKS)}, got {recipe.task!r}")
    arguments = {name: seed if value == SEED else value for name, value in recipe.task_arguments.items()}
    return TASKS[recipe.task](**arguments)


def files_of(recipe: Recipe) -> tuple[str, ...]:
    """The data files that a run of the recipe reads, its tests on other tasks too; names of `rtx_lib.tasks.files`."""
    read = [(recipe.task, recipe.task_arguments | changes) for changes in ({}, *recipe.elsewhere.values())]
    read += [(how["task"], {name: how[name] for name in how if name != "task"}) for how in recipe.probed.values()]
    return tuple(dict.fromkeys(file for name, how in read for file in tasks.files_of(TASKS[name], **how)))


def rule(recipe: Recipe, model: nn.Module) -> dict[str, Any]:
    """How the recipe changes this model's parameters: ``optimizer``, ``schedule`` and ``plateau`` of ``fit``.

    Raises
    ------
    ValueError
        For an unknown schedule or optimizer, or a slow rate without parameters.
    """
    judged = recipe.keep_best or "loss"
    schedules: dict[str, Callable[[], Any]] = {
        "constant": lambda: warmup_constant(recipe.warmup) if recipe.warmup else None,
        "cosine": lambda: warmup_cosine(recipe.steps, recipe.warmup, recipe.floor),
        "staircase": lambda: staircase(recipe.drop_every, recipe.drop),
        "plateau": lambda: drop_on_plateau(recipe.drop_every, recipe.drop, judged, recipe.drop_after),
    }
    if recipe.schedule not in schedules:
        raise ValueError(f"schedule must be one of {list(schedules)}, got {recipe.schedule!r}")
    factor, by_score = schedules[recipe.schedule](), recipe.schedule == "plateau"
    how = {"schedule": None, "plateau": factor} if by_score else {"schedule": factor, "plateau": None}
    return {"optimizer": optimizer(recipe, model), **how}


def optimizer(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    """Adam, AdamW where weights decay, or SGD; the parameters that match ``recipe.slow`` have a rate of their own."""
    named = dict(model.named_parameters())
    matches = [fnmatch.filter(named, pattern) for pattern in recipe.slow]
    if (recipe.slow_lr is None) != (not matches) or not all(matches):
        raise ValueError(f"slow must name parameters exactly if slow_lr is given, got {recipe.slow}, {recipe.slow_lr}")
    slow = sorted({name for names in matches for name in names})
    groups: list[dict[str, Any]] = [{"params": [p for name, p in named.items() if name not in slow]}]
    groups += [{"params": [named[name] for name in slow], "lr": recipe.slow_lr}] if slow else []
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=recipe.lr, weight_decay=recipe.weight_decay)
    if recipe.optimizer != "adam":
        raise ValueError(f"optimizer must be 'adam' or 'sgd', got {recipe.optimizer!r}")
    betas = (recipe.betas[0], recipe.betas[1])
    if not recipe.weight_decay:
        return torch.optim.Adam(groups, lr=recipe.lr, betas=betas)
    decayed = [group | {"params": [p for p in group["params"] if p.ndim >= 2]} for group in groups]
    others = [group | {"params": [p for p in group["params"] if p.ndim < 2]} for group in groups]  # norms and biases
    parted = [group | {"weight_decay": recipe.weight_decay} for group in decayed]
    parted += [group | {"weight_decay": 0.0} for group in others]
    return torch.optim.AdamW([group for group in parted if group["params"]], lr=recipe.lr, betas=betas)
