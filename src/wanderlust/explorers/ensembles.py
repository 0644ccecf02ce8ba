"""Exploration by an ensemble of Q-tables with random initial values and separate minibatches (Algorithm 5)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from wanderlust.core.errors import check_choice, check_flag, check_integer, check_number
from wanderlust.explorers.choice import greedy_action, random_action
from wanderlust.explorers.dithering import EpsilonEnd, EpsilonStart, choose_epsilon_greedy, epsilon_schedule
from wanderlust.explorers.protocol import Ensemble, ExtraTables, Problem, View, register_explorer
from wanderlust.learning.state import Streams
from wanderlust.learning.td import Floats

Heads = Annotated[int, "The number of Q-tables in the ensemble."]
Batch = Annotated[int, "Minibatch size of each Q-table."]
Noise = Annotated[float, "Standard deviation of the initial values' noise."]
Dither = Annotated[bool, "Whether it acts ε-greedily on the sampled Q-table, as in Algorithm 5, or greedily."]


CURRENT_HEAD = 0
"""The explorer's note that holds the head of the current episode."""


def _ensemble(heads: int, batch: int, noise: float, prior_weight: float = 0.0) -> Ensemble:
    return Ensemble(
        check_integer("heads", heads, low=1),
        check_integer("batch", batch, low=1),
        check_number("noise", noise, low=0),
        check_number("prior_weight", prior_weight, low=0),
    )


def _schedule(problem: Problem, dither: bool, start: float | None, end: float | None) -> tuple[float, float]:
    schedule = epsilon_schedule(problem, start, end)  # Also checks values that are not used.
    return schedule if check_flag("dither", dither) else (0.0, 1.0)


@register_explorer("bootstrapped")
class Bootstrapped(NamedTuple):
    """Greedy on one Q-table of the ensemble, sampled for each episode (Osband et al. 2016)."""

    heads: int
    batch: int
    noise: float
    prior_weight: float
    epsilon: float
    decay: float

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        heads: Heads = 10,
        batch: Batch = 1024,
        noise: Noise = 1.0,
        dither: Dither = False,
        epsilon_start: EpsilonStart = None,
        epsilon_end: EpsilonEnd = None,
    ) -> Bootstrapped:
        """Check the sizes."""
        return cls(*_ensemble(heads, batch, noise), *_schedule(problem, dither, epsilon_start, epsilon_end))

    def extra_tables(self) -> ExtraTables:
        """Return the ensemble, with its prior if there is one."""
        return ExtraTables(ensemble=Ensemble(self.heads, self.batch, self.noise, self.prior_weight))

    def begin_episode(self, notes: Floats, random: Streams) -> None:
        """Sample the head of the episode."""
        notes[CURRENT_HEAD] = random_action(random, self.heads)

    def score(self, view: View, scores: Floats) -> None:
        """Q of the current head."""
        for action in range(view.n_actions):
            scores[action] = view.head(int(view.notes[CURRENT_HEAD]), action)

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Act greedily, or ε-greedily, on the current head."""
        return choose_epsilon_greedy(self, view, scores, random)


@register_explorer("random-prior")
class RandomPrior(Bootstrapped):
    """`bootstrapped` with Q-tables regularised towards a prior at zero (Osband et al. 2019, Eq. 34)."""

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        heads: Heads = 10,
        batch: Batch = 1024,
        noise: Noise = 1.0,
        prior_weight: Annotated[float, "ν, the weight of the prior."] = 0.1,
        dither: Dither = False,
        epsilon_start: EpsilonStart = None,
        epsilon_end: EpsilonEnd = None,
    ) -> RandomPrior:
        """Check the sizes and the weight."""
        schedule = _schedule(problem, dither, epsilon_start, epsilon_end)
        return cls(*_ensemble(heads, batch, noise, prior_weight), *schedule)


@register_explorer("thompson")
class Thompson(NamedTuple):
    """Greedy on one Q-table of the ensemble, sampled at each step (D'Eramo et al. 2019)."""

    heads: int
    batch: int
    noise: float
    per_action: bool

    @classmethod
    def configure(
        cls,
        problem: Problem,
        *,
        heads: Heads = 10,
        batch: Batch = 1024,
        noise: Noise = 1.0,
        draw: Annotated[str, "What a Q-table is sampled for: every 'step', or every 'action' of every step."] = "step",
    ) -> Thompson:
        """Check the sizes."""
        ensemble = _ensemble(heads, batch, noise)
        per_action = check_choice("draw", draw, ("step", "action")) == "action"
        return cls(ensemble.heads, ensemble.batch, ensemble.noise, per_action)

    def extra_tables(self) -> ExtraTables:
        """Return the ensemble."""
        return ExtraTables(ensemble=Ensemble(self.heads, self.batch, self.noise))

    def score(self, view: View, scores: Floats) -> None:
        """Mean Q of the ensemble."""
        for action in range(view.n_actions):
            scores[action] = 0.0
            for head in range(self.heads):
                scores[action] += view.head(head, action) / self.heads

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Sample a head, then act greedily on it."""
        head = random_action(random, self.heads)
        for action in range(view.n_actions):
            if self.per_action and action > 0:
                head = random_action(random, self.heads)
            scores[action] = view.head(head, action)
        return greedy_action(scores, random)
