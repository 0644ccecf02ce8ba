"""Environments side by side (Gymnasium's `VectorEnv`): batches, and one of its environments as a plain one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.vector import VectorEnv

from wanderlust.core.errors import InvalidEnvironment

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
        # Gymnasium 1.0 has only this mode, and does not name it.
        mode = getattr(vector.metadata.get("autoreset_mode"), "name", "NEXT_STEP")
        if mode != "NEXT_STEP":
            raise InvalidEnvironment(f"autoreset_mode={mode} is not possible here; use NEXT_STEP, Gymnasium's default.")
        self.vector = vector
        self.observation_space, self.action_space = vector.single_observation_space, vector.single_action_space
        self.metadata = {name: value for name, value in vector.metadata.items() if name != "autoreset_mode"}
        try:
            spec = vector.get_attr("spec")[0]  # type: ignore[attr-defined]
        except Exception:  # Not every VectorEnv has this method.
            spec = vector.spec
        if spec is not None:
            spec = copy.deepcopy(spec)
            spec.kwargs = {name: value for name, value in spec.kwargs.items() if name not in _OF_VECTORS}
        self.spec = spec
        envs: Any = getattr(vector.unwrapped, "envs", None)
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
