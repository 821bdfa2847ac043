"""A network whose only recurrence runs through its output (Jordan 1986).

The state that goes from step to step is the output itself. Feed the *true* previous output instead and the
steps no longer wait for each other: that is teacher forcing (Williams and Zipser 1989). Toss a coin between
the two and it is scheduled sampling (Bengio, Vinyals, Jaitly and Shazeer 2015).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each, expect_state


class JordanRNN(nn.Module):
    """Output recurrence: h_t = tanh(U x_t + W o_{t-1} + b), o_t = sigmoid(V h_t + c).

    The logits V h_t + c are returned (for a stable loss); o_t is what the next step reads.
    *Deep Learning* (2016), figure 10.4 and section 10.2.1.

    Parameters
    ----------
    input_size, hidden_size, output_size
        D_in, H and D_out; each at least 1.
    """

    def __init__(self, input_size: int, hidden_size: int, output_size: int) -> None:
        super().__init__()
        self.input_size, self.output_size = input_size, output_size
        self.input = nn.Linear(input_size, hidden_size)
        self.feedback = nn.Linear(output_size, hidden_size, bias=False)
        self.output = nn.Linear(hidden_size, output_size)

    def forward(
        self,
        x: Tensor,
        state: Tensor | None = None,
        *,
        targets: Tensor | None = None,
        teacher_probability: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Run the sequence, on its own outputs or on true ones.

        Parameters
        ----------
        x
            (B, T, D_in).
        state
            (B, D_out), what the first step reads as the previous output; zeros if None.
        targets
            (B, T, D_out), the true outputs in [0, 1]. Without them the network runs free.
        teacher_probability
            Chance that a step reads the true previous output rather than its own, drawn for every sequence
            and step: 1 is teacher forcing, 0 is free running, between is scheduled sampling. The network's
            own outputs carry no gradient when they are sampled, as in Bengio et al. (2015).
        generator
            Source of the coin.

        Returns
        -------
        logits
            (B, T, D_out).
        state
            (B, D_out), what the next step would read: the last output, or the true one from the teacher.
        """
        expect(x, ("B", "T", self.input_size), like=self.input.weight)
        expect_each(teacher_probability=(teacher_probability, "[0, 1]"))
        if targets is not None:
            targets = expect(targets, (*x.shape[:2], self.output_size), "targets").to(x.dtype)
        previous = expect_state(state, (x.shape[0], self.output_size), x)
        z = self.input(x)  # (B, T, H)
        if targets is not None and teacher_probability == 1:
            # Every step knows what it will read, so all are computed at once.
            read = torch.cat([previous.unsqueeze(1), targets[:, :-1]], dim=1)
            return self.output(torch.tanh(z + self.feedback(read))), targets[:, -1]
        steps = []
        for t, z_t in enumerate(z.unbind(1)):
            steps.append(self.output(torch.tanh(z_t + self.feedback(previous))))
            previous = torch.sigmoid(steps[-1])
            if targets is not None:
                coin = torch.rand(x.shape[0], 1, generator=generator).to(x.device) < teacher_probability
                previous = torch.where(coin, targets[:, t], previous.detach())
        return torch.stack(steps, dim=1), previous

    @staticmethod
    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        """Mean binary cross-entropy, in nats, between logits and targets of shape (B, T, D_out)."""
        return F.binary_cross_entropy_with_logits(logits, targets.to(logits.dtype))
