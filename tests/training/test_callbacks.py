"""Tests of the callbacks of `learn`."""

import csv
import io
import sys

import gymnasium as gym
import numpy as np
import pytest
from rich.console import Console

import wanderlust as wl
from wanderlust.core.errors import BadFile, InvalidSetting, MissingPackage

LAKE = "FrozenLake-v1"
FROZEN_LAKE = {"id": LAKE, "is_slippery": False}


def frozen_lake():
    return gym.make(**FROZEN_LAKE)


class Recorder(wl.Callback):
    """Records all calls."""

    def __init__(self, stop_at=None, stop_at_episode=None):
        self.stop_at, self.stop_at_episode = stop_at, stop_at_episode
        self.calls, self.steps, self.ends = [], [], []

    def on_start(self, loop):
        self.calls.append(("start", loop.step))

    def on_step(self, loop):
        assert loop.agent.steps == loop.step
        self.steps.append((loop.step, loop.state, loop.action, loop.reward, loop.next_state, loop.episode_over))
        return loop.step != self.stop_at

    def on_episode_end(self, loop):
        self.ends.append((loop.episode, loop.episode_return, loop.episode_steps, loop.step))
        return loop.episode != self.stop_at_episode

    def on_end(self, loop):
        self.calls.append(("end", loop.step))


def test_callbacks_are_called_for_every_step_and_episode():
    recorder = Recorder()
    agent = wl.learn(frozen_lake(), "vv-ucb", steps=300, callbacks=[recorder], quiet=True)
    assert recorder.calls == [("start", 0), ("end", 300)]
    assert [step for step, *_ in recorder.steps] == list(range(1, 301))
    assert [episode for episode, *_ in recorder.ends] == list(range(1, len(recorder.ends) + 1))
    end_steps = [step for step, *_, over in recorder.steps if over]
    assert end_steps == [step for *_, step in recorder.ends]
    assert sum(length for _, _, length, _ in recorder.ends) == end_steps[-1]
    assert sum(total for _, total, _, _ in recorder.ends) == sum(reward for *_, reward, _, _ in recorder.steps)
    counted = np.zeros_like(agent.visits)
    for _, state, action, *_ in recorder.steps:
        counted[state, action] += 1
    assert np.array_equal(counted, agent.visits)
    for (*_, next_state, over), (_, state, *_) in zip(recorder.steps, recorder.steps[1:], strict=False):
        assert over or next_state == state


def test_returning_false_stops_training_after_all_callbacks_were_called():
    other = Recorder()
    agent = wl.learn(frozen_lake(), steps=300, callbacks=[Recorder(stop_at=17), other], quiet=True)
    assert agent.steps == 17
    assert other.calls[-1] == ("end", 17)
    assert len(other.steps) == 17
    agent = wl.learn(frozen_lake(), steps=300, callbacks=[Recorder(stop_at_episode=2), other], quiet=True)
    assert other.ends[-1][0] == 2


def test_other_callbacks_end_when_one_raises(tmp_path):
    """A callback that returns None continues; one that raises an exception leaves a checkpoint and a complete log."""

    class Fails(wl.Callback):
        def on_step(self, loop):
            if loop.episode == 5:
                raise ZeroDivisionError

    recorder, log, path = Recorder(), tmp_path / "log.csv", tmp_path / "a.npz"
    with pytest.raises(ZeroDivisionError):
        wl.learn(LAKE, steps=400, callbacks=[recorder, Fails(), wl.CsvLog(log)], save=path, quiet=True)
    assert recorder.calls[-1] == ("end", wl.Agent.load(path).steps)
    assert len(rows(log)) == 6
    for name, resume in (("log.csv", path), ("whole.csv", None)):
        wl.learn(LAKE, resume=resume, steps=400, callbacks=[wl.CsvLog(tmp_path / name)], quiet=True)
    assert rows(log) == rows(tmp_path / "whole.csv")


# --- Evaluation ----------------------------------------------------------------------------------------


def test_evaluation_does_not_change_training():
    evaluation = wl.EvaluateEvery(10, episodes=3)
    evaluated = wl.learn(frozen_lake(), "vv-ucb", steps=400, seed=2, callbacks=[evaluation], quiet=True)
    without = wl.learn(frozen_lake(), "vv-ucb", steps=400, seed=2, quiet=True)
    assert [each.step for each in evaluation.history] == list(range(10, 401, 10))
    assert evaluation.history[-1].returns.tolist() == [1.0] * 3
    assert evaluation.history[0].mean < 1
    assert np.array_equal(evaluated.tables["target"], without.tables["target"][: len(evaluated.tables["target"])])
    assert np.array_equal(evaluated.learner.streams, without.learner.streams)


def test_evaluation_environment_can_be_given():
    class Doubled(gym.RewardWrapper):
        def reward(self, reward):
            return 2 * reward

    evaluation = wl.EvaluateEvery(400, episodes=1, env=Doubled(frozen_lake()))
    wl.learn(frozen_lake(), "vv-ucb", steps=400, seed=2, callbacks=[evaluation], quiet=True)
    assert evaluation.history[-1].mean == 2
    assert evaluation.evaluator is None, "it evaluates every time"


def test_stops_when_solved():
    stop = wl.StopWhenSolved(every=25, episodes=2)
    agent = wl.learn(frozen_lake(), "vv-ucb", steps=5_000, callbacks=[stop], quiet=True)
    assert stop.threshold == gym.spec("FrozenLake-v1").reward_threshold
    assert agent.steps == stop.solved_at < 1_000
    assert stop.history[-1].mean >= stop.threshold > max(each.mean for each in stop.history[:-1])
    never = wl.StopWhenSolved(2.0, every=100)
    assert wl.learn(frozen_lake(), steps=300, callbacks=[never], quiet=True).steps == 300
    assert never.solved_at is None


def test_invalid_options():
    """`project/test_fuzz_input.py` has odd values of all of them."""
    with pytest.raises(InvalidSetting, match="threshold"):
        wl.StopWhenSolved("high")
    with pytest.raises(InvalidSetting, match=r"CliffWalking-v1 .*StopWhenSolved\(threshold\)"):
        wl.learn("CliffWalking-v1", steps=10, callbacks=[wl.StopWhenSolved()])


# --- Files and progress --------------------------------------------------------------------------------


def rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_csv_log_continues_from_the_checkpoint(tmp_path):
    """Also if a process was killed after the checkpoint, within the header, or within a row that looks like another."""
    whole, parts, checkpoint, recorder = tmp_path / "whole.csv", tmp_path / "parts.csv", tmp_path / "c.npz", Recorder()

    def logged(path, *more, **options):
        callbacks = [wl.EvaluateEvery(100, episodes=16), wl.CsvLog(path), *more]
        wl.learn(LAKE, callbacks=callbacks, quiet=True, **options)
        return rows(path)

    table = logged(whole, recorder, steps=500)
    assert table[0] == ["step", "episode", "return", "length", "states", "evaluation"]
    assert [(int(e), float(r), int(n), int(s)) for s, e, r, n, _, _ in table[1:]] == recorder.ends
    parts.write_bytes(b"step,epi")
    logged(parts, steps=200, save=checkpoint, budget=500)
    before = parts.read_bytes()
    for left in (before, before + b"203,99,0.0,3,9,\r\n2"):
        parts.write_bytes(left)
        assert logged(parts, resume=checkpoint, steps=500) == table
    for n_lost in (1, 2, 3, 4, 6, 9, 15, 19):
        parts.write_bytes(before[:-n_lost])
        n_complete = parts.read_bytes().count(b"\n")
        assert logged(parts, resume=checkpoint, steps=500) == table[:n_complete] + table[n_complete + 1 :]


def test_log_of_another_training_is_not_overwritten(tmp_path):
    log, path = tmp_path / "log.csv", tmp_path / "a.npz"

    def logged(overwrite=False, **options):
        wl.learn(LAKE, steps=300, callbacks=[wl.CsvLog(log, overwrite=overwrite)], quiet=True, **options)

    logged(seed=1, save=path)
    before = log.read_bytes()
    with pytest.raises(BadFile, match=r"log.csv: the log of another .*overwrite=True.*--overwrite-log"):
        logged(seed=2)
    wl.learn(LAKE, steps=100, seed=2, save=tmp_path / "b.npz", quiet=True)
    with pytest.raises(BadFile, match="the log of another training"):
        logged(resume=tmp_path / "b.npz")
    logged(resume=path)
    assert log.read_bytes() == before
    logged(seed=2, overwrite=True)
    assert log.read_bytes() != before
    for other in ("my notes\n", "my notes", "step,episode,return,length,states,evaluation\r\n1,one,0,1,1,\r\n"):
        log.write_text(other, newline="")
        with pytest.raises(BadFile, match="not a file written by CsvLog"):
            logged(overwrite=True)
        assert log.read_bytes() == other.encode()


@pytest.mark.parametrize("is_terminal", [False, True])
def test_progress_is_a_bar_in_a_terminal_and_ten_lines_elsewhere(is_terminal):
    console = Console(file=io.StringIO(), width=200, force_terminal=is_terminal)
    wl.learn(frozen_lake(), steps=500, callbacks=[wl.ProgressBar(console)], quiet=True)
    printed = console.file.getvalue()
    assert "500/500" in printed if is_terminal else printed.count("of 500 steps") == len(printed.splitlines()) == 10


def test_tensorboard_has_the_values_of_the_episodes(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    recorder = Recorder()
    callbacks = [recorder, wl.EvaluateEvery(100), wl.TensorBoard(tmp_path)]
    wl.learn(frozen_lake(), steps=300, callbacks=callbacks, quiet=True)
    (file,) = tmp_path.iterdir()
    scalars = {}
    for event in EventFileLoader(str(file)).Load():
        for value in event.summary.value:
            scalars.setdefault(value.tag, []).append((event.step, value.tensor.float_val[0]))
    assert scalars["episode/return"] == [(step, total) for _, total, _, step in recorder.ends]
    assert scalars["episode/length"] == [(step, length) for _, _, length, step in recorder.ends]
    assert set(scalars) == {"episode/return", "episode/length", "exploration/states", "evaluation/return"}


def test_missing_tensorboard_error_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    with pytest.raises(MissingPackage, match=r"pip install 'wanderlust\[tensorboard\]'"):
        wl.TensorBoard(tmp_path)
