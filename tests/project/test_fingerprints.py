"""Results do not change unnoticed: every fingerprint is the committed one."""

import json

import pytest

import fingerprints

pytestmark = pytest.mark.slow
KEPT = json.loads(fingerprints.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("part", fingerprints.PARTS, ids=lambda part: part.__name__)
def test_results_are_the_committed_ones(part):
    now = dict(part())
    assert now == {name: KEPT.get(name) for name in now}, "a new ALGORITHM_VERSION, then tests/fingerprints.py --write"
    assert len(now) > 1


def test_every_fingerprint_has_a_run():
    prefixes = ("train ", "learn ", "own loop ", "saved agent ", "exam ")
    assert len(KEPT) == 250
    assert all(name.startswith(prefixes) for name in KEPT)
