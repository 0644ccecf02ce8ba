"""State keys for images and vectors of which no two are equal: `key=wl.keys.downscale(8, 8)`.

A key maps similar observations to one state. Too fine a key, and states never repeat; too coarse, and states with
different outcomes become one. `Explorer.repeat_rate` and `wanderlust diagnose` show which. Keys are plain data: they
are saved with an agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidObservation, check_integer, check_number, shown

__all__ = ["Downscale", "Rounded", "SimHash", "downscale", "rounded", "simhash"]


def _numbers(observation: Any) -> NDArray[np.float64]:
    """Return an observation of numbers as an array of floats."""
    array = np.asarray(observation)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise InvalidObservation(f"this key needs an array of finite numbers, got {shown(observation)}.")
    return array.astype(np.float64)


@dataclass(frozen=True)
class Downscale:
    """The mean of an image in each cell of a coarse grid, in few grey levels (Go-Explore's cells, Ecoffet 2021)."""

    height: int
    width: int
    levels: int = 8
    """The number of grey levels."""
    high: float = 255.0
    """The largest pixel value; the smallest is 0."""

    def __post_init__(self) -> None:
        for name in ("height", "width", "levels"):
            check_integer(name, getattr(self, name), low=1, high=256)
        check_number("high", self.high, low=0, open_low=True)

    def __call__(self, observation: Any) -> bytes:
        """Return the key of an image, [row, column] or [row, column, channel]; channels first also works."""
        image = _numbers(observation)
        if image.ndim == 3:
            image = image.mean(axis=0 if image.shape[0] < image.shape[2] else 2)
        if image.ndim != 2 or image.shape[0] < self.height or image.shape[1] < self.width:
            size = f"{self.height} x {self.width}"
            raise InvalidObservation(f"downscale needs an image of at least {size} pixels, got {shown(observation)}.")
        for axis, n in ((0, int(self.height)), (1, int(self.width))):
            starts = np.arange(n) * image.shape[axis] // n
            sizes = np.diff(np.append(starts, image.shape[axis]))
            image = np.add.reduceat(image, starts, axis=axis) / np.expand_dims(sizes, 1 - axis)
        level = np.clip(image * (self.levels / self.high), 0, self.levels - 1)
        return level.astype(np.uint8).tobytes()


@dataclass(frozen=True)
class Rounded:
    """Every number divided by a step and rounded to an integer."""

    step: float

    def __post_init__(self) -> None:
        check_number("step", self.step, low=0, open_low=True)

    def __call__(self, observation: Any) -> bytes:
        """Return the key of an array of numbers."""
        return np.rint(_numbers(observation) / self.step).astype(np.int64).tobytes()


@dataclass(frozen=True)
class SimHash:
    """The signs of random projections: similar observations share most bits (Charikar 2002, Tang et al. 2017)."""

    bits: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("bits", self.bits, low=1, high=4096)
        check_integer("seed", self.seed, low=0)

    @cached_property
    def _projections(self) -> dict[int, NDArray[np.float64]]:
        return {}

    def __call__(self, observation: Any) -> bytes:
        """Return the key of an array of numbers; the projections depend on its size and on the seed."""
        values = _numbers(observation).ravel()
        if values.size not in self._projections:
            generator = np.random.default_rng([self.seed, values.size])
            self._projections[values.size] = generator.standard_normal((self.bits, values.size))
        return np.packbits(self._projections[values.size] @ values > 0.0).tobytes()


downscale, rounded, simhash = Downscale, Rounded, SimHash
