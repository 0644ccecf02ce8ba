"""Exploration by ensembles of Q-tables, each with its own noise and its own minibatches (Appendix A.4)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from wanderlust._numba.jit import inlined
from wanderlust.core.errors import check_choice, check_flag, check_integer, check_number
from wanderlust.explorers.choice import greedy_action_of, random_action
from wanderlust.explorers.dithering import EpsilonEnd, EpsilonStart, choose_dithering, epsilon_schedule
from wanderlust.explorers.protocol import Ensemble, ExtraTables, Problem
from wanderlust.explorers.registry import register_explorer
from wanderlust.explorers.view import View
from wanderlust.learning.random_streams import Streams
from wanderlust.learning.state import Floats

Heads = Annotated[int, "The number of Q-tables in the ensemble."]
Batch = Annotated[int, "How many stored transitions each table learns from at every step."]
Noise = Annotated[float, "Standard deviation of the noise on the initial values."]
Dither = Annotated[bool, "Whether it acts ε-greedily on the chosen table, as the pseudocode has it, or greedily."]


HEAD_IN_USE = 0
"""Which of the explorer's notes holds the table of the episode."""


@inlined
def score_by_head(view: View, scores: Floats) -> None:
    """Score every action by the table in use."""
    for action in range(view.n_actions):
        scores[action] = view.head(int(view.notes[HEAD_IN_USE]), action)


def _ensemble(heads: int, batch: int, noise: float, prior_weight: float = 0.0) -> Ensemble:
    return Ensemble(
        check_integer("heads", heads, low=1),
        check_integer("batch", batch, low=1),
        check_number("noise", noise, low=0),
        check_number("prior_weight", prior_weight, low=0),
    )


@register_explorer("bootstrapped")
class Bootstrapped(NamedTuple):
    """One table of the ensemble for a whole episode (Osband et al. 2016)."""

    heads: int
    batch: int
    noise: float
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
        dithers = check_flag("dither", dither)
        schedule = epsilon_schedule(problem, epsilon_start, epsilon_end) if dithers else (0.0, 1.0)
        return cls(*_ensemble(heads, batch, noise)[:3], *schedule)

    def extra_tables(self) -> ExtraTables:
        """Return the ensemble."""
        return ExtraTables(ensemble=Ensemble(self.heads, self.batch, self.noise))

    def begin_episode(self, notes: Floats, random: Streams) -> None:
        """Draw the table of the episode."""
        notes[HEAD_IN_USE] = random_action(random, self.heads)

    def score(self, view: View, scores: Floats) -> None:
        """Q of the table in use."""
        score_by_head(view, scores)

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Exploit the table in use, or dither where that is asked for."""
        return choose_dithering(self, view, scores, random)


@register_explorer("random-prior")
class RandomPrior(NamedTuple):
    """One table of the ensemble for a whole episode, all pulled towards a prior at zero (Osband et al. 2019)."""

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
        prior_weight: Annotated[float, "ν, the pull of the prior."] = 0.1,
        dither: Dither = False,
        epsilon_start: EpsilonStart = None,
        epsilon_end: EpsilonEnd = None,
    ) -> RandomPrior:
        """Check the sizes."""
        dithers = check_flag("dither", dither)
        schedule = epsilon_schedule(problem, epsilon_start, epsilon_end) if dithers else (0.0, 1.0)
        return cls(*_ensemble(heads, batch, noise, prior_weight), *schedule)

    def extra_tables(self) -> ExtraTables:
        """Return the ensemble with its prior."""
        return ExtraTables(ensemble=Ensemble(self.heads, self.batch, self.noise, self.prior_weight))

    def begin_episode(self, notes: Floats, random: Streams) -> None:
        """Draw the table of the episode."""
        notes[HEAD_IN_USE] = random_action(random, self.heads)

    def score(self, view: View, scores: Floats) -> None:
        """Q of the table in use."""
        score_by_head(view, scores)

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Exploit the table in use, or dither where that is asked for."""
        return choose_dithering(self, view, scores, random)


@register_explorer("thompson")
class Thompson(NamedTuple):
    """Another table of the ensemble at every step, approximately Thompson sampling (D'Eramo et al. 2019)."""

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
        draw: Annotated[str, "What a table is drawn for: every 'step', or every 'action' of every step."] = "step",
    ) -> Thompson:
        """Check the sizes."""
        ensemble = _ensemble(heads, batch, noise)
        per_action = check_choice("draw", draw, ("step", "action")) == "action"
        return cls(ensemble.heads, ensemble.batch, ensemble.noise, per_action)

    def extra_tables(self) -> ExtraTables:
        """Return the ensemble."""
        return ExtraTables(ensemble=Ensemble(self.heads, self.batch, self.noise))

    def score(self, view: View, scores: Floats) -> None:
        """The ensemble's mean, about which the tables that are drawn scatter."""
        for action in range(view.n_actions):
            scores[action] = 0.0
            for head in range(self.heads):
                scores[action] += view.head(head, action) / self.heads

    def choose(self, view: View, scores: Floats, random: Streams) -> int:
        """Draw tables, then exploit them."""
        head = random_action(random, self.heads)
        for action in range(view.n_actions):
            if self.per_action and action > 0:
                head = random_action(random, self.heads)
            scores[action] = view.head(head, action)
        return greedy_action_of(scores, random)
