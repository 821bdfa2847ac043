"""The instructions of the processor that a run may use: others round otherwise, and training is chaotic.

A library decides on them when it is loaded, by variables of its environment. This module loads none, for the sake of
who sets them.
"""

SETS = ("avx512", "avx2", "default")
"""As ``ATEN_CPU_CAPABILITY`` of torch names them, the best first; the last is what every processor has."""

# The same for the two libraries that multiply matrices for torch.
_MATRICES = {
    "avx512": {},
    "avx2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "default": {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41"},
}
VARIABLES: dict[str, dict[str, str]] = {name: {"ATEN_CPU_CAPABILITY": name} | _MATRICES[name] for name in SETS}
"""The variables that restrict a program to a set, by its name."""


def available() -> list[str]:
    """The sets that this program may use, the best first; that is all of the processor's, unless it was restricted."""
    import torch

    best = torch.backends.cpu.get_cpu_capability().lower()
    return [*SETS[SETS.index(best) :]] if best in SETS else ["default"]
