"""Two words that depend on each other: the example of New York, in a form that can be counted."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.orders import NO_LABEL, seen_under
from rtx_lib.tasks.splits import Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import text_of
from rtx_lib.tasks.windows import symbol_count, symbol_loss, symbol_metrics

CITIES = [
    "New York",
    "Los Angeles",
    "Hong Kong",
    "Buenos Aires",
    "Kuala Lumpur",
    "Addis Ababa",
    "Tel Aviv",
    "Cape Town",
]
CONTEXT = ("is", "a", "city")
PADDING, MASK = "[PAD]", "[MASK]"  # the former has the id 0, which BERT does not see, and is in no sentence
FORMS = ("masked", "permutation")
HIDDEN = ("any", "both")
ROUTES = ("one pass", "first word first", "second word first")
# Which of the two words are hidden, and the ranks of the two in either order.
_PATTERNS = torch.tensor([[True, False], [False, True], [True, True]])
_RANKS = torch.tensor([[0, 1], [1, 0]])


class WordPairs:
    """Name the two words of a city's name (after section 2.6 of Yang et al. 2019, XLNet).

    ::

        "masked"        x        Tel [MASK] is a city           [MASK] [MASK] is a city
                        y          .   Aviv . .  .                 Tel   Aviv . .  .

        "permutation"   ids      Tel Aviv is a city
                        seen     the targets see the context, and one of them sees the other
                        targets  0 1
                        y        Tel Aviv

    Eight cities, all equally likely, and no word is in two names. Whoever sees one word knows the other, and the
    context tells nothing. The pair has an entropy of ln 8, and so has each of its words.

    Two words that are predicted together, neither with the other in sight, cost at least 2 ln 8, and of the pairs that
    are drawn from such a prediction one in 8 exists: the loss is too high by ln 8, their mutual information. Predicted
    one behind the other they cost ln 8, and all pairs exist. This is so for every model: see `log_joint`.

    Training sentences are drawn without end from the caller's generator. "valid" (1,000) and "test" (10,000) come from
    seeds of their own.

    Parameters
    ----------
    form
        "masked" or "permutation". Of the former, x and y are (B, T) int64, T = 5, and -100 in y stands for what need
        not be named. Of the latter x is (ids (B, T), seen (B, T, T) bool, targets (B, 2)), as
        :class:`rtx_lib.models.xlnet.XLNet` reads it, and y is (B, 2).
    hidden
        Of the form "masked", what is hidden in training and in the splits: "any": the first word, the second, or both,
        all equally likely; "both": always both.
    """

    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, weight, decode = symbol_loss, symbol_metrics, symbol_count, text_of

    def __init__(self, form: str = "masked", *, hidden: str = "any") -> None:
        expect_each(form=(form, FORMS), hidden=(hidden, HIDDEN))
        if form == "permutation" and hidden != "any":
            raise ValueError(f"hidden must be 'any' in the form 'permutation', where nothing is hidden, got {hidden!r}")
        self.form, self.hidden, self.name = form, hidden, f"word-pairs-{form}" + ("-both" if hidden == "both" else "")
        names = [city.split() for city in CITIES]
        self.words = (PADDING, *(first for first, _ in names), *(second for _, second in names), *CONTEXT, MASK)
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        self.pairs = 1 + torch.arange(2 * len(CITIES)).view(2, -1).T  # (8, 2), the ids of each city's name
        self.mask = self.vocabulary - 1
        self._context = 1 + torch.arange(2 * len(CITIES), self.mask - 1)
        self.splits = Rows(draw=self._draw, lay_out=self._lay_out)

    def baselines(self) -> dict[str, float]:
        """Of the best prediction of two hidden words: {"independent loss": 2 ln 8, "pair loss": ln 8}, nats per pair,
        and {"independent pairs that exist": 1/8}."""
        nats = math.log(len(CITIES))
        return {"independent loss": 2 * nats, "pair loss": nats, "independent pairs that exist": 1 / len(CITIES)}

    @torch.no_grad()
    def log_joint(self, model: Callable[..., Any], route: str) -> Tensor:
        """ln p of every pair of words when both are hidden, (V, V), first words in rows: what a model says by a route.

        ::

            "one pass"             ln p(a) + ln p(b)           neither sees the other
            "first word first"     ln p(a) + ln p(b | a)       two questions to a masked model,
            "second word first"    ln p(b) + ln p(a | b)       two orders of a permutation model

        `model` is called as the form says, and returns logits and a state; it should be in evaluation mode.
        """
        expect_each(route=(route, ROUTES))
        hidden = torch.full((1, 2), self.mask)
        if route == "one pass":
            first, second = self._ask(model, hidden, torch.zeros_like(hidden))[0]
            return first[:, None] + second
        early, late = (0, 1) if route == "first word first" else (1, 0)
        asked = torch.full((self.vocabulary, 2), self.mask)
        asked[:, early] = torch.arange(self.vocabulary)  # each word once
        rank = torch.tensor([[early, late]]).expand_as(asked)  # of two places: 0 and 1 are their own inverse
        if self.form == "permutation":
            answers = self._ask(model, asked, rank)
            before, after = answers[0, early], answers[:, late]
        else:
            before = self._ask(model, hidden, rank)[0, early]
            after = self._ask(model, asked, rank)[:, late]
        joint = before[:, None] + after  # (early word, late word)
        return joint if early == 0 else joint.T

    def judge(self, model: Callable[..., Any], route: str) -> dict[str, float]:
        """{"pair loss", "pairs that exist"}: -ln p of the eight pairs in nats, and what they have of all probability.

        Both are exact: nothing is drawn.
        """
        joint = self.log_joint(model, route).double().cpu()
        found = joint[self.pairs[:, 0], self.pairs[:, 1]]
        return {"pair loss": -found.mean().item(), "pairs that exist": found.exp().sum().item()}

    def sample(self, model: Callable[..., Any], route: str, count: int, generator: torch.Generator) -> Tensor:
        """Pairs (count, 2) of ids drawn from what the model says by a route."""
        joint = self.log_joint(model, route).double().cpu().exp()
        drawn = joint.flatten().multinomial(count, replacement=True, generator=generator)
        return torch.stack([drawn // self.vocabulary, drawn % self.vocabulary], dim=1)

    def _ask(self, model: Callable[..., Any], words: Tensor, rank: Tensor) -> Tensor:
        """ln p of both words, (N, 2, V), with the pairs (N, 2) as they are given, under the ranks (N, 2)."""
        ids = self._sentence(words)
        x: Any = ids if self.form == "masked" else (ids, *self._order(rank))
        parameter = next(model.parameters(), None) if isinstance(model, torch.nn.Module) else None
        if parameter is not None:
            x = x.to(parameter.device) if isinstance(x, Tensor) else tuple(part.to(parameter.device) for part in x)
        return model(x)[0][:, :2].log_softmax(-1)

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Pairs (size, 2) of ids, and for each a number that says what is hidden, or in which order it is predicted."""
        pairs = self.pairs[torch.randint(len(CITIES), (size,), generator=generator)]
        return pairs, torch.randint(6, (size,), generator=generator)

    def _lay_out(self, pairs: Tensor, number: Tensor) -> tuple[Any, Tensor]:
        if self.form == "permutation":
            return (self._sentence(pairs), *self._order(_RANKS[number % 2])), pairs
        hidden = _PATTERNS[number % 3] if self.hidden == "any" else torch.ones_like(pairs, dtype=torch.bool)
        x, y = torch.where(hidden, self.mask, pairs), torch.where(hidden, pairs, NO_LABEL)
        return self._sentence(x), torch.nn.functional.pad(y, (0, len(self._context)), value=NO_LABEL)

    def _sentence(self, pairs: Tensor) -> Tensor:
        return torch.cat([pairs, self._context.expand(len(pairs), -1)], dim=1)

    def _order(self, rank: Tensor) -> tuple[Tensor, Tensor]:
        """Who sees whom (N, T, T), and the targets (N, 2); with equal ranks neither of the two sees the other."""
        rank = torch.nn.functional.pad(rank, (0, len(self._context)))
        target = (torch.arange(rank.shape[1]) < 2).expand_as(rank)
        return seen_under(rank, target), torch.arange(2).expand(len(rank), -1)
