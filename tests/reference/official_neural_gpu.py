"""The Neural GPUs among the reference values: which of our parameters their official names mean, and one pass."""

from collections.abc import Callable

from torch import Tensor

from rtx_lib.layers.official import joined, load_official, renamed
from rtx_lib.models.neural_gpu import CGRU, NeuralGPU

from .leaves import parameters, with_gradients

Arrays = dict[str, Tensor]
INPUTS: dict[str, set[str]] = {"neural_gpu_cgru": {"cutoff"}, "neural_gpu": {"ids", "width", "cutoff"}}
# Official names and ours; both gates of a unit are one convolution here.
NAMES = {
    r"^embedding$": "embedding.weight",
    r"^output/": "readout/",
    r"^cgru_(\d+)/": r"cgrus.\1.",
    r"\b([gr])/": r"gate_\1/",
    r"\bc/": "candidate/",
    r"/CvK$": ".weight",
    r"/CvB$": ".bias",
}


def official_weights(given: Arrays) -> Arrays:
    """Ours from kernels (k, k, in, out), which are linear maps at either end of the net."""
    turned = {name: value.permute(3, 2, 0, 1) if value.ndim == 4 else value for name, value in given.items()}
    turned |= {name: turned[name].flatten(1) for name in given if name in ("input/CvK", "output/CvK")}
    return joined(renamed(turned, NAMES), ["gate_g.", "gate_r."], "gates.")


def cgru(arrays: Arrays) -> Arrays:
    """One unit on an image x (B, n, w, m).

    A file without ``grad_out`` claims no gradients.
    """
    given, x = parameters(arrays), arrays["x"].double().clone().requires_grad_()
    _, size, channels, _ = given["r/CvK"].shape
    ours = official_weights(given)
    unit = load_official(CGRU(channels, kernel_size=size, cutoff=float(arrays["cutoff"])), ours)
    outcomes = {"out": unit(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)}
    return with_gradients(arrays, outcomes, unit, given, ours, x=x)


def neural_gpu(arrays: Arrays) -> Arrays:
    """The whole net on ids (B, n); all sizes but the width are those of the parameters."""
    given = parameters(arrays)
    ours, (vocabulary, channels) = official_weights(given), given["embedding"].shape
    layers = len({name.split("/")[0] for name in given if name.startswith("cgru_")})
    sizes = {"width": int(arrays["width"]), "channels": channels, "layers": layers}
    sizes["kernel_size"] = given["cgru_0/r/CvK"].shape[1]
    model = NeuralGPU(vocabulary, len(given["output/CvB"]), cutoff=float(arrays["cutoff"]), **sizes)
    load_official(model, ours)
    outcomes = {"out": model(arrays["ids"])[0], "state": model.images(arrays["ids"])[-1]}
    return with_gradients(arrays, outcomes, model, given, ours)


FAMILIES: dict[str, Callable[[Arrays], Arrays]] = {"neural_gpu_cgru": cgru, "neural_gpu": neural_gpu}
