"""Some of all combinations: every pair of values in the default run, all combinations in `make test-all`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from conftest import can_run


def every_pair(**values: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrize a test with all combinations that `can_run` allows; those that add no pair are `exhaustive`."""
    rows = [row for row in itertools.product(*values.values()) if can_run(**dict(zip(values, row, strict=True)))]
    pairs = [frozenset(itertools.combinations(enumerate(map(str, row)), 2)) for row in rows]
    missing, chosen = frozenset().union(*pairs), set()
    while missing:
        best = max(range(len(rows)), key=lambda i: len(pairs[i] & missing))
        chosen.add(best)
        missing -= pairs[best]
    marks = [() if i in chosen else pytest.mark.exhaustive for i in range(len(rows))]
    return pytest.mark.parametrize(
        list(values), [pytest.param(*row, marks=mark) for row, mark in zip(rows, marks, strict=True)]
    )
