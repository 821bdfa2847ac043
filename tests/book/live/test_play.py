"""The Python side of live figures: what is refused, how weights travel, what an output carries."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from matplotlib.figure import Figure
from torch import nn

from rtx_book.page import live
from rtx_book.page.live import packing, play
from rtx_lib.plots import LOOKS

KIND = sorted(live.PARTS)[0]
ALT = "the error falls"


def picture() -> Figure:
    fig, ax = plt.subplots()
    ax.plot([0, 1])
    return fig


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch) -> None:
    """Scripts that do nothing but say that they are there, so that each test is about the frame."""
    for kind in live.PARTS:
        for name in live.parts_of(kind):
            (tmp_path / f"{name}.js").write_text(f"// why\nRTX.part('{name}', (RTX) => {{ '</script>' }})\n")
    (tmp_path / "live.css").write_text("/* why */\n.live { margin: 0 }\n")
    monkeypatch.setattr(live, "folder", lambda: tmp_path)


def unpacked(packed: Any) -> dict[str, np.ndarray]:
    """What the page makes of packed weights, in float64."""
    data, arrays = base64.b64decode(packed["data"]), {}
    for key, entry in packed["tensors"].items():
        kind, count = ("i1" if "scale" in entry else "<f2"), int(np.prod(entry["shape"]))
        flat = np.frombuffer(data, kind, count, entry["at"]).astype(np.float64)
        arrays[key] = (flat * entry.get("scale", 1.0)).reshape(entry["shape"])
    return arrays


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alt": "  "}, "alt must be a text that states what the figure shows, got '  '"),
        ({"models": {"a": {}}, "form": "float32"}, r"form must be one of \['float16', 'int8'\], got 'float32'"),
        ({"models": {"a": {"w": np.array([1, np.nan])}}}, "a: w must be finite, got nan"),
        ({"models": {"a": {"w": [1e5]}}}, "a: w must be below 65504 to fit half precision, got 100000"),
        (
            {"models": {"a": {"w": np.zeros((600, 600))}}},
            "weights must take at most 750 kB, got 960 kB: take form=`int8` or a smaller model",
        ),
    ],
)
def test_what_would_be_wrong_in_silence_is_refused(changes: dict[str, Any], message: str) -> None:
    call = {"models": None, "still": picture(), "alt": ALT} | changes
    with pytest.raises(ValueError, match=message):
        play(KIND, call.pop("models"), **call)


@pytest.mark.parametrize("form", packing.FORMS)
def test_packed_weights_are_the_rounded_ones(form: str) -> None:
    torch.manual_seed(0)
    model = nn.LSTM(3, 5, num_layers=2)
    digest, script = packing.pack("m", model, form)
    found = unpacked(json.loads(script.partition(f'["{digest}"]=')[2]))
    assert list(found) == list(model.state_dict())
    for name, tensor in model.state_dict().items():
        wanted = tensor.numpy()
        if form == "float16" or wanted.ndim == 1:
            assert np.array_equal(found[name], wanted.astype(np.float16))
        else:
            assert abs(found[name] - wanted).max() <= abs(wanted).max() / 254 * (1 + 1e-6)
            assert np.unique(found[name]).size <= 255


def test_a_tensor_of_zeros_and_an_empty_axis_survive_eight_bits() -> None:
    _, script = packing.pack("m", {"zero": np.zeros((2, 3)), "one": np.ones((1, 1))}, "int8")
    found = unpacked(json.loads(script.split("=", 2)[2]))
    assert not found["zero"].any() and found["one"] == 1.0


def test_tied_tensors_travel_once_and_keep_both_names() -> None:
    model = nn.ModuleDict({"embedding": nn.Embedding(50, 8), "readout": nn.Linear(8, 50, bias=False)})
    model["readout"].weight = model["embedding"].weight
    packed = json.loads(packing.pack("m", model)[1].split("=", 2)[2])
    assert packed["tensors"]["embedding.weight"] == packed["tensors"]["readout.weight"]
    assert len(base64.b64decode(packed["data"])) == 2 * 50 * 8
    transposed = {"a": model["readout"].weight, "b": model["readout"].weight.detach().T}
    found = unpacked(json.loads(packing.pack("m", transposed)[1].split("=", 2)[2]))
    assert np.array_equal(found["a"], found["b"].T)


def test_counters_and_masks_of_a_module_stay_out() -> None:
    model = nn.BatchNorm1d(4)
    model.register_buffer("mask", torch.ones(30, 30, dtype=torch.bool))
    kept = unpacked(json.loads(packing.pack("m", model)[1].split("=", 2)[2]))
    assert set(kept) == {"weight", "bias", "running_mean", "running_var"}


def test_the_hash_is_of_the_content() -> None:
    first, second = ({"w": np.arange(4.0).reshape(2, 2)} for _ in range(2))
    assert packing.pack("a", first) == packing.pack("b", second)
    different = [{"w": np.arange(4.0)}, {"v": first["w"]}, {"w": first["w"] + 1}]
    assert len({packing.pack("a", one)[0] for one in [first, *different]}) == 4
    assert packing.pack("a", first, "int8")[0] != packing.pack("a", first)[0]


def shown(**changes: Any) -> tuple[str, BeautifulSoup]:
    call = {"still": picture(), "alt": ALT} | changes
    output = play(KIND, call.pop("models", None), **call)._repr_html_()
    return output, BeautifulSoup(output, "html.parser")


def test_an_output_carries_the_picture_and_all_that_makes_it_live() -> None:
    options = {"text": 'a "quoted" <b>', "T": 100}
    words = {"title": "It <em>learns</em>", "caption": "In 3 steps."}
    output, soup = shown(models={"LSTM": nn.LSTM(1, 2)}, options=options, **words)
    figure = soup.select_one("figure.book-fig.live")
    assert figure["data-live"] == KIND and json.loads(figure["data-options"]) == {"options": options}
    assert figure["data-parts"].split() == list(live.parts_of(KIND)) and figure["data-parts"].startswith("base ")
    assert [child.name for child in figure.children] == ["p", "div", "figcaption"]
    assert figure.select_one(".fig-title").em.text == "learns" and figure.figcaption.text == "In 3 steps."
    assert figure.select_one(".live-still svg[role=img]")["aria-label"] == ALT
    names = [script["data-part"] for script in soup.select("script")]
    ((model, digest),) = json.loads(figure["data-weights"]).items()
    assert model == "LSTM" and names == [*live.parts_of(KIND), f"weights-{digest}", ""]
    assert soup.select("script")[-1].text == "RTX.start()"
    assert "why" not in output, "comments stay in the files"
    assert "'<\\/script>'" in output and output.count("</script>") == len(names)
    assert not plt.get_fignums()


def test_equal_models_and_figures_without_models_carry_no_doubles() -> None:
    twins = {"a": {"w": np.ones(3)}, "b": {"w": np.ones(3)}}
    assert len(shown(models=twins)[1].select("script[data-part^=weights-]")) == 1
    _, soup = shown()
    assert not soup.select("script[data-part^=weights-]") and soup.figure["data-weights"] == "{}"


def test_the_site_takes_scripts_and_styles_out_and_keeps_weights() -> None:
    output, soup = shown(models={"LSTM": nn.LSTM(1, 2)})
    page, files = live.for_site(f"<p>before</p>{output}<script>theirs()</script>")
    figure = re.search("<figure.*</figure>", output, re.S)[0]
    assert page == f"<p>before</p>{figure}<script>theirs()</script>"
    (script,) = soup.select("script[data-part^=weights-]")
    assert files == {f"{script['data-part']}.js": script.text}
    assert live.for_site(page) == (page, {})


def test_no_page_shows_where_an_output_lies_in_memory() -> None:
    assert repr(play(KIND, still=picture(), alt=ALT)) == f"<live figure: {KIND}>"


def test_a_part_is_named_once_and_by_its_file(monkeypatch) -> None:
    monkeypatch.undo()
    folder = live.folder()
    for path in folder.glob("*.js"):
        if path.stem != "base":
            assert re.findall(r"^RTX\.part\('([\w-]+)'", path.read_text(), re.M) == [path.stem], path.name
    for kind in live.PARTS:
        assert live.parts_of(kind)[0] == "base" and live.parts_of(kind)[-1] == f"widget-{kind}"
        missing = [name for name in live.parts_of(kind) if not (folder / f"{name}.js").is_file()]
        assert not missing, f"{kind} needs {missing}"


def test_models_look_as_in_every_figure(monkeypatch) -> None:
    monkeypatch.undo()
    sheet = (live.folder() / "live.css").read_text()
    found = dict(re.findall(r"^\.live-([\w-]+) \{ (--model: .*?; --dash: .*?;) \}", sheet, re.M))
    width = 2.2
    wanted = {}
    for models in LOOKS.values():
        for model, (colour, dash, _) in models.items():
            dashes = " ".join(f"{width * d:.1f}".rstrip("0").rstrip(".") for d in dash[1]) if dash != "-" else "none"
            wanted[model] = f"--model: {colour}; --dash: {dashes};"
    assert found == wanted
