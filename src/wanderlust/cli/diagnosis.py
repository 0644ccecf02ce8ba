"""What several explorers met in an environment, as numbers: how sparse it is, how deep, what distracts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wanderlust.cli.compare import first_end, first_reward, median
from wanderlust.cli.runs import Results
from wanderlust.experiments.result import Result

LATE = 0.75
"""The share of a run from which on a state that is met for the first time is met late."""
_SAME = 0.02
"""Returns that differ by less than this share of the larger are the same."""


@dataclass(frozen=True)
class OfExplorer:
    """What one explorer came to; medians over its seeds, infinite where it never happened."""

    explorer: str
    seeds: int
    states: float
    late_states: float
    """How many of the states were met in the last quarter of the run only, in percent."""
    first_reward: float
    first_end: float
    greedy_return: float
    """Of the policy that it has in the end."""
    least_return: float
    """The same of its worst seed, and ..."""
    most_return: float
    """... of its best one."""
    best_episode: float
    """The best return of any episode of any seed."""


@dataclass(frozen=True)
class Reward:
    """One of the rewards that were paid."""

    value: float | None
    """None stands for all the others, where there were too many to list."""
    times: int
    first_step: int
    by: tuple[str, ...]
    """Which explorers were ever paid it."""
    place: str


@dataclass(frozen=True)
class Diagnosis:
    """All numbers of the report."""

    explorers: tuple[OfExplorer, ...]
    steps: int
    rewards: tuple[Reward, ...]
    """The largest first."""
    usual_reward: float | None
    """The reward of most steps."""
    unusual_share: float
    """How many steps were paid something else, in percent."""
    terminated: int
    """Of all episodes, how many ended by themselves, and ..."""
    truncated: int
    """... how many were cut off."""
    repeated_pairs: int
    """How many pairs of state and action were tried again, and ..."""
    varied_pairs: int
    """... how many of them had several outcomes."""
    horizon: int | None
    """After how many steps the environment cuts episodes off, if that is known."""
    longest_episode: int
    depth: int | None
    """How long the shortest episode was that returned the best that was found."""
    best_return: float | None
    """The best that any episode returned."""
    best_policy: float
    """The best that the policy of any seed returns in the end."""

    @property
    def found(self) -> bool:
        """Whether any seed of any explorer was ever paid more than nothing."""
        return bool(self.finders)

    @property
    def finders(self) -> set[str]:
        """The explorers that were ever paid more than nothing, with any of their seeds."""
        return {name for reward in self.rewards if reward.value is not None and reward.value > 0 for name in reward.by}

    @property
    def ends_are_goals(self) -> bool:
        """Whether every step costs something, and some episodes ended by themselves."""
        return not self.found and (self.usual_reward or 0.0) < 0 and self.terminated > 0

    @property
    def stochastic_share(self) -> float:
        """How many of the pairs that were tried again had several outcomes, in percent."""
        return 100.0 * self.varied_pairs / self.repeated_pairs if self.repeated_pairs else 0.0

    @property
    def ranked(self) -> tuple[OfExplorer, ...]:
        """The explorers, the best policy first; among equals, who was paid first, or reached an end, or found most."""

        def rank(each: OfExplorer) -> tuple[float, ...]:
            return -round(each.greedy_return, 6), each.first_reward, each.first_end, -each.states

        return tuple(sorted(self.explorers, key=rank))

    @property
    def widest(self) -> OfExplorer:
        """The explorer that met most states; among equals, the one that met them sooner."""
        return max(self.explorers, key=lambda each: (each.states, -each.late_states))

    @property
    def settlers(self) -> tuple[OfExplorer, ...]:
        """Who was paid something and in the end settles, with every seed, for less than all seeds of the best found.

        That takes two rewards: of a single one some policies get more than others, but none of them is distracted.
        """
        best = self.ranked[0]
        if sum(reward.value is None or reward.value > 0 for reward in self.rewards) < 2:
            return ()
        return tuple(
            each
            for each in self.explorers
            if each.explorer in self.finders
            and each.explorer != "random"
            and each.most_return < best.least_return
            and not _alike(each.most_return, best.least_return)
            and each.greedy_return > self.worth_of_nothing
        )

    @property
    def worth_of_nothing(self) -> float:
        """What an episode returns in which nothing unusual happens."""
        usual = self.usual_reward or 0.0
        return min(0.0, usual * self.longest_episode)


def diagnosed(results: Results, *, steps: int, horizon: int | None) -> Diagnosis:
    """Return what the results of some explorers say about their environment."""
    everything = [result for found in results.values() for result in found]
    rewards = _rewards(results)
    counts = {each.value: each.times for each in rewards}
    usual = max(counts, key=lambda value: counts[value]) if counts else None
    total = sum(counts.values())
    episodes = np.concatenate([result.episodes for result in everything])
    best = float(episodes[:, 2].max()) if len(episodes) else None
    return Diagnosis(
        explorers=tuple(_of_explorer(name, found, steps) for name, found in results.items() if found),
        steps=steps,
        rewards=rewards,
        usual_reward=usual,
        unusual_share=100.0 * (total - counts.get(usual, 0)) / total if total else 0.0,
        terminated=int((episodes[:, 3] > 0).sum()),
        truncated=int((episodes[:, 3] == 0).sum()),
        repeated_pairs=sum(int(result.pairs[0]) for result in everything),
        varied_pairs=sum(int(result.pairs[1]) for result in everything),
        horizon=horizon,
        longest_episode=int(episodes[:, 1].max()) if len(episodes) else steps,
        depth=None if best is None else int(episodes[[_alike(value, best) for value in episodes[:, 2]], 1].min()),
        best_return=best,
        best_policy=max(float(result.returns[-1]) for result in everything),
    )


def _of_explorer(name: str, results: Sequence[Result], steps: int) -> OfExplorer:
    late = [100.0 * int((result.first_visit >= LATE * steps).sum()) / max(result.n_discovered, 1) for result in results]
    best = [float(result.episodes[:, 2].max()) for result in results if len(result.episodes)]
    last = [float(result.returns[-1]) for result in results]
    return OfExplorer(
        explorer=name,
        seeds=len(results),
        states=median([result.n_discovered for result in results]),
        late_states=median(late),
        first_reward=median([first_reward(result) for result in results]),
        first_end=median([first_end(result) for result in results]),
        # Between two returns lies one that no policy has.
        greedy_return=statistics.median_low(last),
        least_return=min(last),
        most_return=max(last),
        best_episode=max(best, default=-math.inf),
    )


def _rewards(results: Results) -> tuple[Reward, ...]:
    """Return the rewards of all runs together."""
    found: dict[float | None, Reward] = {}
    for explorer, runs in results.items():
        for result in runs:
            for (value, times, first), place in zip(result.rewards, result.reward_places, strict=True):
                key = None if math.isnan(value) else float(value)
                known = found.get(key) or Reward(key, 0, int(first), (), str(place))
                is_first = int(first) <= known.first_step
                found[key] = Reward(
                    key,
                    known.times + int(times),
                    min(int(first), known.first_step),
                    tuple(dict.fromkeys([*known.by, explorer])),
                    str(place) if is_first else known.place,
                )
    return tuple(sorted(found.values(), key=lambda each: math.inf if each.value is None else -each.value))


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * max(abs(one), abs(other)) + 1e-12
