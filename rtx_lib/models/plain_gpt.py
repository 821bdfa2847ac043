"""A plain GPT from torch's own modules: the yardstick for this library's causal Transformer.

The architecture is that of GPT-2 (Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019) as
nanoGPT (Karpathy, 2022) trains it: learned positions, norm before each sub-layer and after the last, GELU, output
weights tied to the embedding. Nothing of ``rtx_lib.layers`` is used, so that a fault there would show.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect_ids


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        q, k, v = (part.view(B, T, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(D, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(B, T, D))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class PlainGPT(nn.Module):
    """A causal language model over ids, without biases and without dropout.

    Not for second or forward-mode derivatives: torch's fused attention has none on a CPU.

    Parameters
    ----------
    vocabulary
        Number of symbols V.
    width, heads, layers
        D, a multiple of ``heads``; H; number of blocks.
    length
        Most positions that a sequence can have.
    """

    def __init__(self, vocabulary: int, *, width: int = 128, heads: int = 4, layers: int = 4, length: int = 64) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width must be a multiple of heads, got width={width}, heads={heads}")
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(_Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                into_residual = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / (math.sqrt(2 * layers) if into_residual else 1))

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map ids (B, T) to logits (B, T, V); there is no state."""
        if expect_ids(x, self.tokens.num_embeddings).shape[1] > self.positions.num_embeddings:
            raise ValueError(f"x must have at most {self.positions.num_embeddings} positions, got {x.shape[1]}")
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            h = block(h)
        return self.norm(h) @ self.tokens.weight.T, None
