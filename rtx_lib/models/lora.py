"""LoRA: fine-tuning that leaves the weights as they are and adds a small product to some of the matrices.

E. J. Hu, Y. Shen, P. Wallis, Z. Allen-Zhu, Y. Li, S. Wang, L. Wang and W. Chen, *LoRA: Low-Rank Adaptation of Large
Language Models*, ICLR 2022 (arXiv 2106.09685), section 4. As in its experiments, the matrices are those of queries and
values. A is drawn as in the authors' code (microsoft/LoRA); the paper says a Gaussian.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from rtx_lib.layers.attention import MultiHeadAttention
from rtx_lib.layers.stacking import draw_uniform
from rtx_lib.shapes import expect_each

PACKED = "in_proj_weight"


class LowRank(nn.Module):
    """``W + alpha / r B A`` in place of a matrix W (eq. 3), for ``torch.nn.utils.parametrize``.

    B starts at 0, so that W is at first what it was; A from U(-1/sqrt(n), 1/sqrt(n)) with n columns.

    Parameters
    ----------
    rows, columns
        Of W.
    rank
        r: A is (r, columns), B (rows, r).
    alpha
        How much the product counts; the same for all ranks, so that one rate may serve them.
    """

    def __init__(self, rows: int, columns: int, rank: int, alpha: float = 8.0) -> None:
        super().__init__()
        expect_each(rank=rank, alpha=(alpha, "(0, inf)"))
        self.A, self.B = nn.Parameter(torch.empty(rank, columns)), nn.Parameter(torch.empty(rows, rank))
        self.scale = alpha / rank
        draw_uniform(self, columns)
        nn.init.zeros_(self.B)

    def forward(self, weight: Tensor) -> Tensor:
        """The matrix (rows, columns) that takes the place of the weight."""
        return weight + self.scale * self.B @ self.A


class QueriesAndValues(nn.Module):
    """A product each for W_Q and W_V, which an attention keeps in one matrix with W_K between them."""

    def __init__(self, attention: MultiHeadAttention, rank: int, alpha: float) -> None:
        super().__init__()
        width = attention.width
        self.rows = [width, *2 * [(len(attention.in_proj_weight) - width) // 2]]
        self.queries = LowRank(width, width, rank, alpha)
        self.values = LowRank(self.rows[2], width, rank, alpha)

    def forward(self, packed: Tensor) -> Tensor:
        """The packed matrix with both products."""
        q, k, v = packed.split(self.rows)
        return torch.cat([self.queries(q), k, self.values(v)])


def add_lora(
    model: nn.Module, rank: int, *, alpha: float = 8.0, kinds: tuple[type[nn.Module], ...] = (MultiHeadAttention,)
) -> None:
    """Freeze a model, and give some of its matrices A and B, which then alone are trained.

    A readout that is to be trained, too, must not be part of this model. Optimisers and checkpoints that were made
    before do not fit it any more, until :func:`merge_lora`.

    Parameters
    ----------
    model
        What is changed, in place.
    rank, alpha
        r, and how much the products count.
    kinds
        Of the modules whose matrices these are: attentions, tables (``nn.Embedding``) or maps (``nn.Linear``). A matrix
        that several modules have in common is refused: a product would change it in one of them.
    """
    if not (found := [module for module in model.modules() if isinstance(module, kinds)]):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"model must have a module of kind {names}, got {type(model).__name__}")
    products = [_product(module, rank, alpha) for module in found]
    owned = [id(weight) for module in model.modules() for weight in module.parameters(recurse=False)]
    if any(owned.count(id(getattr(module, name))) > 1 for module, (name, _) in zip(found, products, strict=True)):
        raise ValueError("kinds must be of modules with matrices of their own, got one that is tied to another's")
    model.requires_grad_(False)
    for module, (name, product) in zip(found, products, strict=True):
        parametrize.register_parametrization(module, name, product)


def _product(module: nn.Module, rank: int, alpha: float) -> tuple[str, nn.Module]:
    """The name of the matrix that is changed, and how."""
    if isinstance(module, MultiHeadAttention):
        return PACKED, QueriesAndValues(module, rank, alpha).to(module.in_proj_weight)
    weight: Tensor = module.weight  # type: ignore[assignment]
    rows, columns = weight.shape
    return "weight", LowRank(rows, columns, rank, alpha).to(weight)


def merge_lora(model: nn.Module) -> None:
    """Put the sums in the matrices' place: the same outputs, and the model has its own parameters again, frozen."""
    for module in model.modules():
        for name, steps in [*getattr(module, "parametrizations", {}).items()]:
            if isinstance(steps[-1], LowRank | QueriesAndValues):
                parametrize.remove_parametrizations(module, name)
