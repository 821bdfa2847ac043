"""Speed and memory of one implementation against another: ratios, never pass or fail.

``python -m rtx_book bench NAME`` runs one case; the cases are in one file for each part of the book. All
variants of a case run interleaved in one process, so that a busy machine slows them alike; a ratio compares medians.
"""

from collections.abc import Callable
from typing import Any

from rtx_book.bench.measuring import compare
from rtx_lib.diagnostics.measuring import measure

from .attention import attention, transformer
from .between import local_rnn, txl
from .kernels import cells, diagonal, indrnn, linear, matrix_state, qrnn, rnn, selective
from .peers import peers
from .steps import race, sentiment, told

_LAYERS = (rnn, cells, indrnn, attention, transformer, local_rnn, txl, sentiment, told)
_ALL = (*_LAYERS, linear, qrnn, diagonal, matrix_state, selective, race, peers)
CASES: dict[str, Callable[..., list[dict[str, Any]]]] = {case.__name__.replace("_", "-"): case for case in _ALL}
