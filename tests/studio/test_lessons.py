"""Lessons of the studio: what their captions say is true of their runs, and a teacher's mistakes get clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wanderlust.core.errors import WanderlustError
from wanderlust.studio.lesson import check_claims, describe_lesson, lessons, read_lesson

OWN = """
title = "Mine"
world = "toy"
seed = 3
lanes = [{ explorer = "vv-ucb" }]
[[stops]]
step = 0
text = "Begin."
question = "Are 20 states discovered in 100 steps?"
answers = ["Yes", "No"]
[[stops]]
step = 100
text = "They are."
claim = "discovered_1 > 20 and rewards_1 == 0"
"""


@pytest.mark.parametrize("name", lessons())
def test_every_caption_is_true(name: str) -> None:
    lesson = lessons()[name]
    assert check_claims(lesson) == []
    assert 4 <= len(lesson.stops) <= 6
    assert sum(bool(stop.claim) for stop in lesson.stops) >= 3
    assert any(stop.question for stop in lesson.stops)
    assert "Try it" in lesson.stops[-1].text or "paint your own" in lesson.stops[-1].text
    assert "claim" not in str(describe_lesson(lesson))


def test_a_teacher_checks_a_lesson(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(OWN, encoding="utf-8")
    assert "Mine: 2 stops, 1 claim checked, 0 problems" in run_cli.succeeds("studio", "mine.toml", "--check")
    (tmp_path / "mine.toml").write_text(OWN.replace("discovered_1 > 20", "discovered_1 > 90"), encoding="utf-8")
    code, out, _ = run_cli("studio", "mine.toml", "--check")
    assert code == 1
    assert "stop at step 100: not discovered_1 > 90" in out
    assert "--check needs a lesson" in run_cli.fails("studio", "toy", "--check")
    assert "has a world of its own" in run_cli.fails("studio", "toy", "--lesson", "prison")
    assert next(iter(lessons())) == "epsilon-greedy", "the one that the studio opens"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stops": [{"step": 9, "text": "a"}, {"step": 3, "text": "b"}]}, "steps must not decrease, got 9, 3"),
        ({"stops": [{"step": 0, "text": "a", "question": "?"}, {"step": 1, "text": "b"}]}, "at least two answers"),
        ({"stops": [{"step": 0, "text": ""}, {"step": 1, "text": "b"}]}, r"stops\[0\].text"),
        ({"stops": [{"step": 0, "text": "a", "claims": "b"}, {"step": 1, "text": "b"}]}, "has no field 'claims'"),
        ({"stops": [{"step": 0, "text": "a"}, {"step": 5, "text": "b", "claim": "regret_1 < 3"}]}, "regret_1"),
        ({"world": "toyy"}, "unknown world 'toyy'"),
        ({"layer": "V"}, "layer"),
        ({"colour": 1}, "has no field 'colour'"),
    ],
)
def test_mistakes_in_a_lesson(change: dict[str, Any], words: str) -> None:
    table = {"title": "A", "world": "toy", "lanes": [{"explorer": "ucb1"}],
             "stops": [{"step": 0, "text": "a"}, {"step": 100_000, "text": "b"}]}  # fmt: skip
    assert "the run ends at step" in check_claims(read_lesson(table))[0]
    with pytest.raises(WanderlustError, match=words):
        check_claims(read_lesson(table | change))


