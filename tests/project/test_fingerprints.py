"""Results do not change unnoticed: every fingerprint is the committed one, of the committed version."""

import pytest

import fingerprints

pytestmark = pytest.mark.slow
VERSION, KEPT = fingerprints.read()


@pytest.mark.parametrize("part", fingerprints.PARTS, ids=lambda part: part.__name__)
def test_results_are_the_committed_ones(part):
    now = dict(part())
    assert len(now) > 1
    sentence = fingerprints.problem(VERSION, [name for name in now if now[name] != KEPT.get(name)])
    assert not sentence, sentence


@pytest.mark.parametrize(
    ("version", "different", "named"),
    [
        (fingerprints.VERSION, [], ""),
        (fingerprints.VERSION, ["train toy random"], "train toy random"),
        ("0.0", [], "version 0.0"),
        ("0.0", ["train toy random"], "version 0.0"),
    ],
)
def test_a_change_of_results_needs_a_new_version(version, different, named):
    sentence = fingerprints.problem(version, different)
    assert named in sentence
    assert bool(sentence) == bool(named)


def test_every_fingerprint_has_a_run():
    prefixes = ("train ", "learn ", "own loop ", "saved agent ", "exam ")
    assert len(KEPT) == 256
    assert all(name.startswith(prefixes) for name in KEPT)
