"""Environments side by side (Gymnasium's `VectorEnv`): batches, and one of its environments as a plain one."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

from wanderlust.core.errors import InvalidEnvironment

FINAL = "final_obs"
"""The field of `info` with the last observation of an episode, if its environment was reset in the same step."""
NEXT_STEP, SAME_STEP, DISABLED = "NEXT_STEP", "SAME_STEP", "DISABLED"
"""When an environment is reset after its episode: in the next step, in the same step, or by its user."""
_OF_VECTORS = ("num_envs", "vectorization_mode")


def entry_of(batch: Any, i: int) -> Any:
    """Return one entry of a batch; the entries of a Dict or Tuple space are dictionaries or tuples of batches."""
    if isinstance(batch, Mapping):
        return {name: entry_of(part, i) for name, part in batch.items()}
    return tuple(entry_of(part, i) for part in batch) if isinstance(batch, tuple) else batch[i]


def batch_size(batch: Any) -> int:
    """Return the number of entries of a batch."""
    if isinstance(batch, Mapping):
        return batch_size(next(iter(batch.values())))
    return batch_size(batch[0]) if isinstance(batch, tuple) else len(batch)


def info_of(infos: Mapping[str, Any], i: int) -> dict[str, Any]:
    """Return the info of one environment: the fields of which `_field` says that it has them."""
    return {
        name: entry_of(values, i)
        for name, values in infos.items()
        if not name.startswith("_")
        and isinstance(values, np.ndarray)
        and (f"_{name}" not in infos or infos[f"_{name}"][i])
    }


class SubEnvironment(Env[Any, Any]):
    """One of several environments side by side: its next reset and step return what `put` was given."""

    def __init__(self, vector: VectorEnv[Any, Any, Any]) -> None:
        self.vector = vector
        self.observation_space, self.action_space = vector.single_observation_space, vector.single_action_space
        self.metadata = {name: value for name, value in vector.metadata.items() if name != "autoreset_mode"}
        envs: Any = getattr(vector.unwrapped, "envs", None)
        spec = envs[0].spec if envs else vector.spec
        if spec is None:
            with contextlib.suppress(Exception):  # Not every VectorEnv has this method.
                spec = vector.get_attr("spec")[0]  # type: ignore[attr-defined]
        if spec is not None:
            spec = copy.deepcopy(spec)
            spec.kwargs = {name: value for name, value in spec.kwargs.items() if name not in _OF_VECTORS}
        self.spec = spec
        self.class_name = type(envs[0].unwrapped if envs else vector.unwrapped).__name__
        """What to call it if it has no spec."""
        self._next: Any = None

    def put(self, result: Any) -> None:
        """Set what the next call of `reset` or `step` returns."""
        self._next = result

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Return the first observation of an episode, and its info."""
        return self._next  # type: ignore[no-any-return]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Return the result of a step."""
        return self._next  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close all environments."""
        self.vector.close()

    def __deepcopy__(self, memo: Any) -> SubEnvironment:
        raise InvalidEnvironment("one of several environments side by side cannot be copied.")


class SubEnvironments:
    """Takes steps in all environments at once; every autoreset mode of Gymnasium gives the same transitions."""

    def __init__(self, vector: VectorEnv[Any, Any, Any]) -> None:
        self.vector, self.n = vector, vector.num_envs
        # Gymnasium 1.0 has only the first mode, and does not name it.
        self._mode = getattr(vector.metadata.get("autoreset_mode"), "name", NEXT_STEP)
        self._over = np.zeros(self.n, np.bool_)

    def reset(self, seed: int | None) -> Iterator[tuple[int, tuple[Any, dict[str, Any]]]]:
        """Reset all environments; yield the number, observation and info of each."""
        observations, infos = self.vector.reset(seed=seed)
        self._over[:] = False
        for i in range(self.n):
            yield i, (entry_of(observations, i), info_of(infos, i))

    @property
    def awaiting_reset(self) -> Any:
        """[environment]: whether its next step is a reset, so that its action is ignored."""
        return self._over & (self._mode == NEXT_STEP)

    def step(self, actions: list[Any]) -> Iterator[tuple[int, Any, Any]]:
        """Take a step; yield for each environment its number, the result of its step and that of its reset, or None."""
        space, awaiting = self.vector.single_action_space, self.awaiting_reset
        empty: Any = create_empty_array(space, self.n)
        batch = concatenate(space, actions, empty)
        observations, rewards, terminated, truncated, infos = self.vector.step(batch)
        self._over = np.logical_or(terminated, truncated)
        starts, start_infos = observations, infos
        if self._mode == DISABLED and self._over.any():
            starts, start_infos = self.vector.reset(options={"reset_mask": self._over.copy()})
        for i in range(self.n):
            observed, info = entry_of(observations, i), info_of(infos, i)
            if awaiting[i]:
                yield i, None, (observed, info)
                continue
            is_reset = self._over[i] and self._mode != NEXT_STEP
            last = infos[FINAL][i] if is_reset and FINAL in infos else observed
            step = last, float(rewards[i]), bool(terminated[i]), bool(truncated[i]), info
            yield i, step, (entry_of(starts, i), info_of(start_infos, i)) if is_reset else None
