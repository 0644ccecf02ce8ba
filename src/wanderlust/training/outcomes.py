"""What training has shown of an environment: whether its outcomes, its start and its time limit vary."""

from __future__ import annotations

from wanderlust.training.loop import TrainingLoop

MIN_REPEATS = 30
"""The number of repeated visits of state-action pairs from which an environment can be called deterministic."""
MIN_EPISODES = 2


class ObservedOutcomes:
    """The outcomes of all state-action pairs that training has taken, and the first states of its episodes."""

    def __init__(self) -> None:
        self.repeated_pairs: set[tuple[int, int]] = set()
        """The pairs that were taken more than once."""
        self.stochastic_pairs: set[tuple[int, int]] = set()
        """Those of them that had different next states or rewards."""
        self.repeats = 0
        """The number of times that a pair was taken again."""
        self.starts: set[int] = set()
        """The first states of episodes."""
        self.episodes = 0
        """The number of episodes that have begun."""
        self.shortest_truncation: int | None = None
        """The length of the shortest truncated episode."""
        self._first_outcome: dict[tuple[int, int], tuple[int, float, bool, int]] = {}
        self._has_random_outcomes = False

    def record(self, loop: TrainingLoop) -> None:
        """Record the latest transition."""
        if loop.episode_steps == 1:
            self.episodes += 1
            self.starts.add(loop.state)
        if loop.truncated:
            self.shortest_truncation = min(loop.episode_steps, self.shortest_truncation or loop.episode_steps)
        pair = (loop.state, loop.action)
        # The next state has no effect after termination.
        next_state = -1 if loop.terminated else loop.next_state
        first = self._first_outcome.get(pair)
        if first is None:
            self._first_outcome[pair] = (next_state, loop.reward, loop.terminated, loop.episode_steps)
            return
        self.repeats += 1
        self.repeated_pairs.add(pair)
        if first[:3] != (next_state, loop.reward, loop.terminated):
            self.stochastic_pairs.add(pair)
            self._has_random_outcomes |= self._is_random(first, next_state, loop)

    @staticmethod
    def _is_random(first: tuple[int, float, bool, int], next_state: int, loop: TrainingLoop) -> bool:
        """Return whether two outcomes differ, other than in a terminal reward that depends on the time (MiniGrid)."""
        if first[:1] + first[2:3] != (next_state, loop.terminated):
            return True
        return not loop.terminated or first[3] == loop.episode_steps

    @property
    def is_deterministic(self) -> bool:
        """Whether everything observed so far, and that is enough, had one start and one outcome per pair."""
        is_enough = self.episodes >= MIN_EPISODES and self.repeats >= MIN_REPEATS
        return is_enough and not self._has_random_outcomes and len(self.starts) == 1
