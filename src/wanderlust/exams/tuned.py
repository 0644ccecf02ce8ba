"""Settings of the exam that differ from an explorer's defaults.

The defaults of the paper's explorers are the paper's. Where another value was better in the worlds for development,
with the same number of trials as for every other explorer, the leaderboard uses that value. The defaults of all other
explorers are the tuned values, so they are not listed. `benchmarks/exam_tuning.py` chooses them, and
`docs/exam-tuning.md` has the scores of all values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXAM_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "bonus": {"scale": 1.0},
    "epsilon-greedy": {"epsilon_end": 0.3},
    "thompson": {"noise": 3.0},
}
