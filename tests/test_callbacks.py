"""What is hung into the loop of `learn` is called when it should be, and does what it says."""

import csv
import io
import sys

import gymnasium as gym
import numpy as np
import pytest
from rich.console import Console

import wanderlust as wl
from wanderlust.core.errors import BadFile, InvalidSetting, MissingPackage

LAKE = {"id": "FrozenLake-v1", "is_slippery": False}


def lake():
    return gym.make(**LAKE)


class Diary(wl.Callback):
    """Writes down all that it is told."""

    def __init__(self, stop_at=None, stop_at_episode=None):
        self.stop_at, self.stop_at_episode = stop_at, stop_at_episode
        self.said, self.steps, self.ends = [], [], []

    def on_start(self, loop):
        self.said.append(("start", loop.step))

    def on_step(self, loop):
        assert loop.agent.steps == loop.step
        self.steps.append((loop.step, loop.state, loop.action, loop.reward, loop.next_state, loop.over))
        return loop.step != self.stop_at

    def on_episode_end(self, loop):
        self.ends.append((loop.episode, loop.episode_return, loop.episode_steps, loop.step))
        return loop.episode != self.stop_at_episode

    def on_end(self, loop):
        self.said.append(("end", loop.step))


def test_callbacks_are_told_of_everything():
    diary = Diary()
    agent = wl.learn(lake(), "vv-ucb", steps=300, callbacks=[diary], quiet=True)
    assert diary.said == [("start", 0), ("end", 300)]
    assert [step for step, *_ in diary.steps] == list(range(1, 301))
    assert [episode for episode, *_ in diary.ends] == list(range(1, len(diary.ends) + 1))
    over = [step for step, *_, ended in diary.steps if ended]
    assert over == [step for *_, step in diary.ends]
    assert sum(length for _, _, length, _ in diary.ends) == over[-1]
    assert sum(paid for _, paid, _, _ in diary.ends) == sum(reward for *_, reward, _, _ in diary.steps)
    counted = np.zeros_like(agent.visits)
    for _, state, action, *_ in diary.steps:
        counted[state, action] += 1
    assert np.array_equal(counted, agent.visits)
    for (*_, following, ended), (_, state, *_) in zip(diary.steps, diary.steps[1:], strict=False):
        assert ended or following == state


def test_returning_false_ends_the_lesson_and_all_are_told():
    other = Diary()
    agent = wl.learn(lake(), steps=300, callbacks=[Diary(stop_at=17), other], quiet=True)
    assert agent.steps == 17
    assert other.said[-1] == ("end", 17)
    assert len(other.steps) == 17
    agent = wl.learn(lake(), steps=300, callbacks=[Diary(stop_at_episode=2), other], quiet=True)
    assert other.ends[-1][0] == 2


def test_returning_nothing_goes_on():
    class Quiet(wl.Callback):
        def on_step(self, loop):
            return None

    assert wl.learn(lake(), steps=30, callbacks=[Quiet()], quiet=True).steps == 30


class Careless(wl.Callback):
    """Fails."""

    def on_step(self, loop):
        raise ZeroDivisionError


def test_a_callback_that_fails_fails_loudly_and_the_others_are_told_of_the_end(tmp_path):
    diary = Diary()
    with pytest.raises(ZeroDivisionError):
        wl.learn(lake(), steps=30, callbacks=[diary, Careless()], save=tmp_path / "a.npz", quiet=True)
    assert diary.said[-1] == ("end", 1)
    assert wl.Agent.load(tmp_path / "a.npz").steps == 1


# --- Evaluation ----------------------------------------------------------------------------------------


def test_evaluating_changes_nothing_and_finds_what_is_learnt():
    evaluation = wl.EvaluateEvery(10, episodes=3)
    with_it = wl.learn(lake(), "vv-ucb", steps=400, seed=2, callbacks=[evaluation], quiet=True)
    without = wl.learn(lake(), "vv-ucb", steps=400, seed=2, quiet=True)
    assert [found.step for found in evaluation.history] == list(range(10, 401, 10))
    assert evaluation.history[-1].returns.tolist() == [1.0] * 3
    assert evaluation.history[0].mean < 1
    assert np.array_equal(with_it.tables["target"], without.tables["target"][: len(with_it.tables["target"])])
    assert np.array_equal(with_it.learner.streams, without.learner.streams)


def test_an_environment_to_evaluate_in_can_be_given():
    class Doubled(gym.RewardWrapper):
        def reward(self, reward):
            return 2 * reward

    evaluation = wl.EvaluateEvery(400, episodes=1, env=Doubled(lake()))
    wl.learn(lake(), "vv-ucb", steps=400, seed=2, callbacks=[evaluation], quiet=True)
    assert evaluation.history[-1].mean == 2


def test_it_stops_when_solved():
    enough = wl.StopWhenSolved(every=25, episodes=2)
    agent = wl.learn(lake(), "vv-ucb", steps=5_000, callbacks=[enough], quiet=True)
    assert enough.threshold == gym.spec("FrozenLake-v1").reward_threshold
    assert agent.steps == enough.solved_at < 1_000
    assert enough.history[-1].mean >= enough.threshold > max(found.mean for found in enough.history[:-1])
    never = wl.StopWhenSolved(2.0, every=100)
    assert wl.learn(lake(), steps=300, callbacks=[never], quiet=True).steps == 300
    assert never.solved_at is None


def test_without_a_threshold_it_asks_for_one():
    with pytest.raises(InvalidSetting, match=r"CliffWalking-v1 .*StopWhenSolved\(threshold\)"):
        wl.learn("CliffWalking-v1", steps=10, callbacks=[wl.StopWhenSolved()])


@pytest.mark.parametrize(
    "make",
    [
        lambda: wl.EvaluateEvery(0),
        lambda: wl.EvaluateEvery(5, episodes=0),
        lambda: wl.StopWhenSolved("high"),
        lambda: wl.Checkpoint("x.npz", every=0),
    ],
)
def test_options_that_make_no_sense(make):
    with pytest.raises(InvalidSetting):
        make()


# --- Files and screens ---------------------------------------------------------------------------------


def test_checkpoints_are_written_when_it_is_time(tmp_path):
    wl.learn(lake(), steps=250, callbacks=[wl.Checkpoint(tmp_path / "at-{step}.npz", every=100)], quiet=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["at-100.npz", "at-200.npz", "at-250.npz"]
    assert wl.Agent.load(tmp_path / "at-200.npz").steps == 200


def rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_the_table_of_episodes_goes_on_where_the_checkpoint_is(tmp_path):
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    diary = Diary()
    wl.learn(lake(), steps=500, callbacks=[wl.EvaluateEvery(100), wl.CsvLog(whole), diary], quiet=True)
    table = rows(whole)
    assert table[0] == ["step", "episode", "return", "length", "states", "evaluation"]
    assert [(int(e), float(r), int(n), int(s)) for s, e, r, n, _, _ in table[1:]] == diary.ends
    checkpoint = tmp_path / "c.npz"
    wl.learn(lake(), steps=200, save=checkpoint, callbacks=[wl.EvaluateEvery(100), wl.CsvLog(parts)], quiet=True)
    with parts.open("a") as file:  # What a process that went on beyond its checkpoint, and was then killed, leaves.
        file.write("203,99,0.0,3,9,\r\n2")
    again = [wl.EvaluateEvery(100), wl.CsvLog(parts)]
    wl.learn(lake(), steps=500, resume=checkpoint, callbacks=again, quiet=True)
    assert rows(parts) == table
    parts.write_text("my diary\n")
    with pytest.raises(BadFile, match="will not be overwritten"):
        wl.learn(lake(), steps=600, resume=checkpoint, callbacks=[wl.CsvLog(parts)], quiet=True)
    assert parts.read_text() == "my diary\n"


def test_progress_is_told_in_lines_where_there_is_no_terminal():
    out = io.StringIO()
    wl.learn(lake(), steps=500, callbacks=[wl.ProgressBar(Console(file=out, width=200))], quiet=True)
    lines = out.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("FrozenLake-v1, vv-ucb: 50 of 500 steps")
    assert "500 of 500 steps" in lines[-1]


def test_progress_is_a_bar_in_a_terminal():
    out = io.StringIO()
    console = Console(file=out, width=140, force_terminal=True)
    wl.learn(lake(), steps=500, callbacks=[wl.ProgressBar(console)], quiet=True)
    assert "500/500" in out.getvalue()


def test_tensorboard_has_the_numbers_of_the_episodes(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    diary = Diary()
    wl.learn(lake(), steps=300, callbacks=[diary, wl.EvaluateEvery(100), wl.TensorBoard(tmp_path)], quiet=True)
    (file,) = tmp_path.iterdir()
    found = {}
    for event in EventFileLoader(str(file)).Load():
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.tensor.float_val[0]))
    assert found["episode/return"] == [(step, paid) for _, paid, _, step in diary.ends]
    assert found["episode/length"] == [(step, length) for _, _, length, step in diary.ends]
    assert set(found) == {"episode/return", "episode/length", "exploration/states", "evaluation/return"}


def test_without_tensorboard_it_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    with pytest.raises(MissingPackage, match=r"pip install 'wanderlust\[tensorboard\]'"):
        wl.TensorBoard(tmp_path)
