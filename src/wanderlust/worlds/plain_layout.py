"""Maps and action names as plain values, as they are saved with an agent; values read from a file are checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from wanderlust.worlds.base import CellKind, Layout, single_layer_layout

MAX_CELLS = 10_000
"""Larger maps are not saved."""
MAX_NAME = 40


def checked_names(names: Any, n_actions: int) -> tuple[str, ...] | None:
    """Return action names as a tuple, or None unless they are one short text for each action."""
    if not isinstance(names, Iterable) or isinstance(names, str | bytes):
        return None
    listed = tuple(names)
    return listed if len(listed) == n_actions and all(map(_is_name, listed)) else None


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()


def layout_to_plain(layout: Layout | None) -> dict[str, Any] | None:
    """Return a map of one layer, whose states are its cells row by row, as JSON values; None for any other map."""
    if layout is None or layout.n_layers > 1 or layout.entry is not None or layout.rows * layout.columns > MAX_CELLS:
        return None
    if not np.array_equal(layout.row * layout.columns + layout.column, np.arange(layout.rows * layout.columns)):
        return None
    return {"kind": layout.kind[0].tolist(), "value": layout.value[0].tolist()}


def layout_from_plain(plain: Any, n_states: int | None) -> Layout | None:
    """Return the map that `layout_to_plain` described, or None if it is not a map of this number of states."""
    if not isinstance(plain, Mapping):
        return None
    try:
        kind, value = np.array(plain["kind"], np.uint8), np.array(plain["value"], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    is_map = kind.ndim == 2 and kind.shape == value.shape and 0 < kind.size <= MAX_CELLS and kind.size == n_states
    if not is_map or kind.max() > max(CellKind) or not np.isfinite(value).all():
        return None
    return single_layer_layout(kind, value)
