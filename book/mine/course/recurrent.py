"""A tanh RNN, its backward pass and an LSTM, from tensors alone."""

from torch import Tensor


def rnn(x: Tensor, h: Tensor, W: Tensor, U: Tensor, b: Tensor) -> Tensor:
    """The states (B, T, H) of h_t = tanh(W x_t + U h_{t-1} + b).

    x (B, T, D), the state before them h (B, H), W (H, D), U (H, H), b (H,).
    """
    raise NotImplementedError


def rnn_backward(
    x: Tensor, h: Tensor, W: Tensor, U: Tensor, b: Tensor, d: Tensor
) -> tuple[Tensor, ...]:
    """The derivatives of the sum of all losses to x, h, W, U and b.

    d (B, T, H) holds dL_t/dh_t, what the loss of each step alone says about its state.
    """
    raise NotImplementedError


def lstm(
    x: Tensor, h: Tensor, c: Tensor, W: Tensor, U: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    """The states h (B, T, H) of all steps, and c (B, H) of the last.

    W (4H, D), U (4H, H) and b (4H,) hold four blocks each: input gate, forget gate,
    candidate, output gate.
    """
    raise NotImplementedError
