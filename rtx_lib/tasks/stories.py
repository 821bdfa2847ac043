"""Short stories with a question: which sentences answer it is known, and so is how many must be put together."""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.splits import Rows, draw_batch, last_step_loss, last_step_metrics, run_through
from rtx_lib.tasks.vocabulary import text_of

PEOPLE = ("Anna", "Bert", "Clara", "David")
PLACES = ("kitchen", "garden", "cellar", "attic", "office", "hall")
THINGS = ("ball", "book", "lamp")
ANIMALS = {"mouse": "mice", "cat": "cats", "wolf": "wolves", "goat": "goats"}
_WAYS = ("went", "walked")
# Of each kind: the words that it uses, the range of its sentences, and the least and the most that it allows.
_FACTS = (*PEOPLE, *PLACES, *_WAYS, "to", "the", "Where", "is")
WORDS = {
    "one fact": _FACTS,
    "two facts": (*_FACTS, *THINGS, "took"),
    "deduction": (*PEOPLE, *ANIMALS, *ANIMALS.values(), "fear", "is", "a", "What", "does"),
}
SENTENCES = {"one fact": (4, 10), "two facts": (4, 10), "deduction": (5, 8)}
_LEAST = {"one fact": 1, "two facts": 2, "deduction": len(ANIMALS) + 1}
_MOST = {"one fact": 100, "two facts": 100, "deduction": len(ANIMALS) + len(PEOPLE)}
_ELSEWHERE = {place: tuple(other for other in PLACES if other != place) for place in PLACES}
_TAKEN = 0.7  # how likely it is that somebody takes what is there
_Told = tuple[list[str], str, str, list[int]]


class Stories:
    """Answer a question about a story, like tasks 1, 2 and 15 of bAbI (Weston et al. 2015), in words of our own.

    ::

        "one fact"    Anna went to the garden . Bert walked to the hall . Where is Anna    garden       (sentence 0)
        "two facts"   Bert went to the hall . Bert took the ball . Bert walked to the attic
                      Where is the ball                                                    attic        (1, then 2)
        "deduction"   goats fear wolves . Anna is a goat . ... What does Anna fear         wolves       (1, then 0)

    x is the pair (story (B, M, J), question (B, Q)) of int64 ids, and y (B,) the answer's. Sentences stand from the
    first to the last, then empty ones; words are followed by 0, which is no word. With `flat` x is (B, M J + Q): all
    words of story and question in one row behind the zeros, for a model that reads word by word and answers at the
    last. In either form the model's output at the last step counts. `words` lists the words by id.

    How a story is drawn: the number of its sentences is uniform over sentences[0]..sentences[1].

    - "one fact": in each sentence somebody goes to another place than before. The question is about one of those who
      did.
    - "two facts": things lie in places that nobody tells. Who has gone somewhere may take what lies or is carried
      there, and then carries it wherever they go. The question is about one of the things that were taken, and the
      answer is where its last taker went last. A story in which nothing is taken is drawn again.
    - "deduction": each animal fears another, and some people are animals; the order of sentences is random.

    Training stories are drawn without end from the caller's generator. "valid" (1,000) and "test" (10,000) come
    from seeds of their own. `supports` says which sentences answer the questions of these splits.

    Baselines, shares of right answers. "guess" names one of the six places, or of the four animals. "named last" names
    the last place of the story, or the last animal that is feared, counted over "test".

    Parameters
    ----------
    kind
        "one fact", "two facts" or "deduction".
    sentences
        Least and most sentences of a story; (4, 10), for "deduction" (5, 8), if None. `memory_size` is the most.
    flat
        Whether story and question come as one row of words.
    """

    pad = 0
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, decode = last_step_loss, last_step_metrics, text_of

    def __init__(
        self, kind: str = "two facts", *, sentences: tuple[int, int] | None = None, flat: bool = False
    ) -> None:
        expect_each(kind=(kind, tuple(WORDS)))
        least, most = SENTENCES[kind] if sentences is None else sentences
        if not _LEAST[kind] <= least <= most <= _MOST[kind]:
            allowed = f"the least and the most of them, from {_LEAST[kind]} to {_MOST[kind]}"
            raise ValueError(f"sentences must be {allowed}, got {sentences}")
        self.kind, self.sentences, self.flat, self.name = kind, (least, most), flat, f"stories-{kind.replace(' ', '-')}"
        if self.sentences != SENTENCES[kind]:
            self.name += f"-{least}" if least == most else f"-{least}to{most}"
        self.name += "-flat" if flat else ""
        self.words = ("<nil>", *WORDS[kind])
        self._ids = {word: number for number, word in enumerate(self.words)}
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        self.memory_size, self.sentence_length = self.sentences[1], 4 if kind == "deduction" else 5
        self.question_length = 3 if kind == "one fact" else 4
        self._rows: dict[str, list[int]] = {}  # the ids of each sentence that was told
        self._tell = {"one fact": _one_fact, "two facts": _two_facts, "deduction": _deduction}[kind]
        self.splits = Rows(draw=self._draw, lay_out=self._lay_out)

    def supports(self, split: str) -> Tensor:
        """Sentences (N, F), counted from 0, that answer the questions of "valid" or "test", in the split's order.

        Of one fact F is 1, else 2, in the order in which the question leads to them.
        """
        expect_each(split=(split, ("valid", "test")))
        return self.splits.finite(split)[3]

    def baselines(self) -> dict[str, float]:
        """{"guess", "named last"}, shares of right answers."""
        story, _, y, _ = self.splits.finite("test")
        words = tuple(ANIMALS.values()) if self.kind == "deduction" else PLACES
        answers = torch.tensor([self._ids[word] for word in words])
        named = torch.where(torch.isin(story[..., 2:], answers), story[..., 2:], 0).sum(-1)  # (N, M), at most one each
        place = ((named > 0) * torch.arange(named.shape[1])).argmax(1, keepdim=True)
        last = named.gather(1, place)[:, 0]
        return {"guess": 1 / len(answers), "named last": (last == y).double().mean().item()}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Stories (size, M, J), questions (size, Q), answers (size,) and the sentences that give them (size, F)."""
        rng = random.Random(int(torch.randint(2**62, (), generator=generator)))
        rows = []
        for _ in range(size):
            lines, question, answer, support = self._tell(rng, rng.randint(*self.sentences))
            story = [self._row(line, self.sentence_length) for line in lines]
            story += [self._row("", self.sentence_length)] * (self.memory_size - len(lines))
            rows.append((story, self._row(question, self.question_length), self._ids[answer], support))
        stories, questions, answers, supports = (torch.tensor(part) for part in zip(*rows, strict=True))
        return stories, questions, answers, supports

    def _row(self, line: str, length: int) -> list[int]:
        if line not in self._rows:
            ids = [self._ids[word] for word in line.split()]
            self._rows[line] = ids + [0] * (length - len(ids))
        return self._rows[line]

    def _lay_out(self, story: Tensor, question: Tensor, answer: Tensor, support: Tensor) -> tuple[object, Tensor]:
        if not self.flat:
            return (story, question), answer
        ids = torch.cat([story.flatten(1), question], dim=1)
        # The sort is stable: zeros go to the front, and words keep their order.
        return ids.gather(1, (ids > 0).to(torch.uint8).argsort(dim=1, stable=True)), answer


def _pick(rng: random.Random, items: Sequence[str]) -> str:
    """One of a few; `rng.choice` takes four times as long, and most of the time would be spent there."""
    return items[int(len(items) * rng.random())]


def _go(rng: random.Random, person: str, at: dict[str, str]) -> str:
    """The person goes somewhere else."""
    at[person] = _pick(rng, _ELSEWHERE[at[person]] if person in at else PLACES)
    return f"{person} {_pick(rng, _WAYS)} to the {at[person]}"


def _one_fact(rng: random.Random, count: int) -> _Told:
    at: dict[str, str] = {}
    came: dict[str, int] = {}  # the sentence that tells it
    lines = []
    for i in range(count):
        person = _pick(rng, PEOPLE)
        lines.append(_go(rng, person, at))
        came[person] = i
    asked = _pick(rng, list(at))
    return lines, f"Where is {asked}", at[asked], [came[asked]]


def _two_facts(rng: random.Random, count: int) -> _Told:
    at: dict[str, str] = {}
    came: dict[str, int] = {}
    lies = {thing: _pick(rng, PLACES) for thing in THINGS}
    carries: dict[str, str] = {}  # who has the thing
    taken: dict[str, int] = {}
    lines = []
    for i in range(count):
        person = _pick(rng, PEOPLE)
        here = []  # what the person could take
        if person in at:
            for thing in THINGS:
                owner = carries.get(thing)
                if owner != person and at[person] == (at[owner] if owner else lies[thing]):
                    here.append(thing)
        if here and rng.random() < _TAKEN:
            thing = _pick(rng, here)
            carries[thing], taken[thing] = person, i
            lines.append(f"{person} took the {thing}")
        else:
            lines.append(_go(rng, person, at))
            came[person] = i
    if not taken:
        return _two_facts(rng, count)
    asked = _pick(rng, list(taken))
    person = carries[asked]
    return lines, f"Where is the {asked}", at[person], [taken[asked], came[person]]


def _deduction(rng: random.Random, count: int) -> _Told:
    fears = {animal: _pick(rng, [other for other in ANIMALS if other != animal]) for animal in ANIMALS}
    is_a = {person: _pick(rng, list(ANIMALS)) for person in rng.sample(PEOPLE, count - len(ANIMALS))}
    rules = {animal: f"{ANIMALS[animal]} fear {ANIMALS[feared]}" for animal, feared in fears.items()}
    facts = {person: f"{person} is a {animal}" for person, animal in is_a.items()}
    lines = [*rules.values(), *facts.values()]
    rng.shuffle(lines)
    asked = _pick(rng, list(is_a))
    animal = is_a[asked]
    support = [lines.index(facts[asked]), lines.index(rules[animal])]
    return lines, f"What does {asked} fear", ANIMALS[fears[animal]], support
