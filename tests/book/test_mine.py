"""The file that a reader writes: each stage only adds, imports torch alone, gives the library's numbers, and runs."""

import ast
import importlib.util
import re
import subprocess
import sys
from functools import partial
from pydoc_data.topics import topics

import pytest
import torch
import torch.nn.functional as F
from support.built import NOTEBOOKS
from support.helpers import ROOT, relative_error
from torch import nn

import rtx_lib
from rtx_book.build.execute import read_notebook, source
from rtx_lib.layers.mixing import MixerStack
from rtx_lib.layers.official import renamed
from rtx_lib.layers.positions import Sinusoidal
from rtx_lib.models.transformer import CausalTransformer

STAGES = {
    "recurrence": "RNN",
    "gates": "LSTM",
    "attention": "AttentiveLSTM",
    "transformer": "GPT",
    "transformer_xl": "TransformerXL",
    "state_space": "Mamba",
}
TEXT = "\n".join(topics.values())
V, D = 11, 16


def stage_file(stage):
    return ROOT / "book" / "mine" / f"{stage}.py"


def sections(stage):
    """What stands above the first heading and below each of them, "# ---- run" last."""
    return re.split(r"(?m)^(?=# ---- )", stage_file(stage).read_text(encoding="utf-8"))


def load(stage):
    spec = importlib.util.spec_from_file_location(stage, stage_file(stage))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_adds_a_section_and_a_name(stage):
    count, (*whole, run) = list(STAGES).index(stage) + 1, sections("state_space")
    names = ", ".join(list(STAGES.values())[:count])
    run = re.sub(r"models = \[.*", f"models = [{names}]", run)
    assert sections(stage) == [*whole[: count + 1], run] and whole[count].startswith(f"# ---- {stage}\n")
    text = "".join(sections(stage))
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert {name.split(".")[0] for name in names} <= {"torch", *sys.stdlib_module_names}
    assert len(text.splitlines()) <= 250


@pytest.mark.parametrize("stage", STAGES)
def test_the_chapter_and_the_page_show_what_it_adds(stage):
    [box] = [text for cell in read_notebook(NOTEBOOKS[stage])["cells"] if "book/mine/" in (text := source(cell))]
    added = sections(stage)[-2].strip()
    assert f"```python\n{added}\n```" in box and f"/book/mine/{stage}.py)" in box
    page = (ROOT / "book" / "mine.md").read_text(encoding="utf-8")
    assert f"](mine/{stage}.py)" in page and f":start-at: '# ---- {stage}'" in page


class Attentive(nn.Module):
    """The library's LSTM below its attention, which has no model of that kind."""

    def __init__(self):
        super().__init__()
        self.core, self.linear = rtx_lib.LSTM(V, D), nn.Linear(D, V)
        self.attention = rtx_lib.MultiHeadAttention(D, 4, bias=False)

    def forward(self, x, state=None):
        state, cache = state or (None, None)
        h, state = self.core(x, state)
        y, cache = self.attention(h, causal=True, cache=cache)
        return self.linear(h + y), (state, cache)


def library_model(mine):
    """The library's model with these weights, and what its input is made of."""
    name, weights = type(mine).__name__, mine.state_dict()
    recurrent = {r"^(ih|hh)\.(\w+)$": r"core.\2_\1_l0", r"^readout": "linear"}
    attention = {r"attention\.qkv\.weight": "attention.in_proj_weight", r"attention\.out\.": "attention.out_proj."}
    block = {r"\.norm1\.": ".norms.0.", r"\.norm2\.": ".norms.1.", r"\.up\.": ".feed_forward.linear1."}
    block |= {r"\.down\.": ".feed_forward.linear2."}
    sizes, strict = {"width": D, "layers": 2, "vocabulary": V}, True
    if name in ("RNN", "LSTM", "AttentiveLSTM"):
        theirs = Attentive() if name == "AttentiveLSTM" else rtx_lib.Readout(getattr(rtx_lib, name)(V, D), V)
        weights = renamed(weights, recurrent | attention)
    elif name == "GPT":
        theirs = CausalTransformer(V, V, heads=4, positions="learned", length=64, activation="relu", **sizes)
        rules = {r"^(blocks|norm)\.": r"stack.\1.", r"\.attention\.": ".self_attention."}
        weights = renamed(weights, attention | block | rules)
        weights["stack.positions.weight"] = Sinusoidal(D, layout="halves").encode(torch.arange(64))
        strict = False  # the library's attention has biases, which start at 0
    elif name == "TransformerXL":
        theirs = rtx_lib.TransformerXL(V, V, heads=4, memory=64, norm="pre", tied=False, untied_uv=True, **sizes)
        rules = {r"attention\.r\.weight": "attention.r_proj_weight", r"^readout": "readout.1", r"^norm": "readout.0"}
        weights = renamed(weights, attention | block | rules)
        theirs.readout = nn.Sequential(nn.LayerNorm(D), nn.Linear(D, V))  # the library's last layer has no norm
        weights |= {name: value.squeeze(1) for name, value in weights.items() if name.endswith((".u", ".v"))}
    else:
        theirs = MixerStack(V, V, partial(rtx_lib.Mamba, backend="loop"), mlp=0, **sizes)
        rules = {r"^blocks\.(\d)\.norm": r"norms.\1", r"^blocks": "mixers", r"\.delta\.0": ".low"}
        rules |= {r"\.uz\.": ".in_proj.", r"\.out\.": ".out_proj.", r"\.delta\.1": ".dt_proj"}
        weights = renamed(weights, rules)
        for i in range(2):
            parts = [weights.pop(f"mixers.{i}.{part}.weight") for part in ("low", "BC")]
            weights[f"mixers.{i}.x_proj.weight"] = torch.cat(parts)
    if "embedding.weight" in weights:
        weights["embedding.weight"] = weights["embedding.weight"] / D**0.5  # the library multiplies by it
    missing, unexpected = theirs.load_state_dict(weights, strict=strict)
    assert not unexpected and all(name.endswith("bias") for name in missing)
    return theirs, (lambda x: F.one_hot(x, V).to(torch.float64)) if "core.bias_hh_l0" in weights else (lambda x: x)


@pytest.mark.parametrize("stage", STAGES)
def test_a_model_gives_the_numbers_of_the_library(stage, double):
    torch.manual_seed(1)
    mine = getattr(load("state_space"), STAGES[stage])(V, D)
    for parameter in mine.parameters():
        nn.init.normal_(parameter, std=0.5)
    theirs, prepared = library_model(mine)
    x = torch.randint(V, (3, 12))
    whole, (y, state) = theirs(prepared(x))[0], mine(x[:, :5])
    assert relative_error(mine(x)[0], whole) < 1e-12
    assert relative_error(torch.cat([y, mine(x[:, 5:], state)[0]], 1), whole) < 1e-12
    first, carried = theirs(prepared(x[:, :5]))
    assert relative_error(y, first) < 1e-12
    assert relative_error(mine(x[:, 5:], state)[0], theirs(prepared(x[:, 5:]), carried)[0]) < 1e-12


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_learns_and_writes(stage, capsys):
    module, characters = load(stage), "".join(sorted(set(TEXT)))
    model = getattr(module, STAGES[stage])(len(characters), D)
    before = [parameter.clone() for parameter in model.parameters()]
    module.train(model, torch.tensor([characters.index(c) for c in TEXT[:4000]]), 10)
    assert re.fullmatch(r"step 10: \d\.\d+ nats per character\n", capsys.readouterr().out)
    assert not any(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    text = module.write(model, characters, "The ", 70)
    assert text.startswith("The ") and len(text) == 74


@pytest.mark.slow
def test_a_reader_runs_it(tmp_path):
    (tmp_path / "mine.txt").write_bytes(b"\xef\xbb\xbf" + TEXT[:2000].replace("\n", "\r\n").encode() + b"\xff")
    command = [sys.executable, stage_file("recurrence"), tmp_path / "mine.txt", "--steps", "5", "--prompt", "☃"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("step 5: ") and len(said) > 500


GPT = {"vocabulary": 103, "width": 64, "heads": 4, "layers": 2, "positions": "learned", "length": 64}
WHOLE = {"attention": rtx_lib.models.Seq2Seq(32, 14, width=32, hidden_size=64, attention="additive")}
WHOLE["transformer"] = CausalTransformer(103, 103, activation="relu", **GPT)


@pytest.mark.parametrize("chapter", WHOLE)
def test_what_a_chapter_shows_whole_runs_and_gives_the_numbers_of_the_library(chapter):
    text = "\n".join(source(cell) for cell in read_notebook(NOTEBOOKS[chapter])["cells"])
    (code,) = re.findall(r"```python\n(import torch\n.*?)```", text, flags=re.S)
    assert code.count("\n") <= 60
    exec(re.sub(r"\b(400|601|200)\b", "2", code), there := {})
    model, ids = there["model"], there["ids"][:, -64:]
    WHOLE[chapter].load_state_dict(dict(zip(WHOLE[chapter].state_dict(), model.state_dict().values(), strict=True)))
    x = (there["x"], ids) if chapter == "attention" else ids
    assert relative_error(model(*x) if chapter == "attention" else model(x), WHOLE[chapter](x)[0]) < 1e-5
