"""Tests of agent files and checkpoints: what was saved continues exactly, what was forged is refused.

Forged files are loaded in another process: where a check is missing, compiled code may end it.
"""

import json
import os
import random
import sys
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import settings

import wanderlust as wl
from pairwise import every_pair
from wanderlust.agents.settings import Replay
from wanderlust.core.archives import open_archive, write_archive
from wanderlust.core.errors import BadFile
from wanderlust.explorers.protocol import explorer_names, option_names

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def fast_files():
    """Hundreds of files need be neither small nor safe from power failures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(np, "savez_compressed", np.savez)
        yield


MEMORIES = {"full": "full", "none": "none", "window": Replay("window", capacity=60, batch=8)}
CASES = {
    "deterministic": ("vv-ucb", "full", False, {}),
    "stochastic": ("vv-count", "full", True, {}),
    "ensemble": ("bootstrapped", "full", False, {"heads": 3, "batch": 16}),
    "stochastic ensemble": ("random-prior", "full", True, {"heads": 3, "batch": 16}),
    "window": ("vv-ucb", "window", True, {}),
    "ensemble with window": ("bootstrapped", "window", False, {"heads": 3}),
    "no memory": ("bonus", "none", True, {}),
    "planner": ("r-max", "full", True, {}),
}
N_ACTIONS = 3


def drive(agents, n, *, seed=0, n_states=23, stochastic=False):
    """Let agents take the same steps in a small task, and check that they choose the same actions."""
    chance, state = random.Random(seed), 0
    for step in range(n):
        [action] = {agent.act(state) for agent in agents}
        next_state = (7 * state + 3 * action + 1) % n_states
        if stochastic and chance.random() < 0.3:
            next_state = chance.randrange(n_states)
        terminated, truncated = next_state == n_states - 1, step % 40 == 39
        for agent in agents:
            agent.observe(state, action, float(next_state % 5 == 0), next_state, terminated, truncated)
        state = 0 if terminated or truncated else next_state


def new_agent(explorer, memory="full", *, seed=3, plain_sweeps=False, initial="zero", **options):
    settings = wl.Settings(replay=MEMORIES[memory], plain_sweeps=plain_sweeps, initial=initial)
    return wl.Agent(explorer, n_actions=N_ACTIONS, reward_range=(0, 1), seed=seed, settings=settings, **options)


def trained(case, steps=200):
    explorer, memory, stochastic, options = CASES[case]
    agent = new_agent(explorer, memory, **options)
    drive([agent], steps, stochastic=stochastic)
    return agent


def identical(one, other, folder):
    """Compare everything that is saved; what follows from it shows in the steps after loading."""
    for name, agent in (("one", one), ("other", other)):
        agent.save(folder / name)
    (about, arrays), (other_about, other_arrays) = contents(folder / "one"), contents(folder / "other")
    assert about == other_about
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)


def contents(path):
    with open_archive(path) as archive:
        return archive.metadata, archive.read()


# --- Files of the library ------------------------------------------------------------------------------


SITUATIONS = {
    "stochastic": (23, True, {}),
    "growth": (1500, False, {}),
    "optimistic, plain sweeps": (300, True, {"initial": "optimistic", "plain_sweeps": True}),
}
"""Number of states, randomness, settings."""


@every_pair(situation=SITUATIONS, memory=MEMORIES, explorer=explorer_names())
def test_a_saved_agent_continues_exactly(situation, memory, explorer, tmp_path):
    """Before and after the first steps, after growth, in the middle of an episode, adapted, and saved again."""
    path, (n_states, stochastic, changes) = tmp_path / "a.npz", SITUATIONS[situation]
    agent = new_agent(explorer, memory, **changes)
    # At each first visit psrl draws and plans the whole model.
    for steps in (0, 57, 60 if explorer == "psrl" else 300):
        drive([agent], steps, seed=steps, n_states=n_states, stochastic=stochastic)
        agent.save(path)
        loaded = wl.Agent.load(path)
        identical(agent, loaded, tmp_path)
    agent.adapt((0, 2), **({"gamma_w": 0.8} if "gamma_w" in option_names(explorer) else {}))
    agent.replace_terminal_rewards(1.5)
    agent.save(path)
    loaded = wl.Agent.load(path)
    drive([agent, loaded], 60 if explorer == "psrl" else 150, seed=7, n_states=n_states, stochastic=stochastic)
    identical(agent, loaded, tmp_path)


# --- Forged files --------------------------------------------------------------------------------------


INDICES = ["outcomes.pair", "outcomes.next_state", "state_index", "slots", "transitions", "converged", "visits"]
ALL_FORGERIES = ("stochastic ensemble", "window", "no memory")
FLOATS = ("values", "outcomes.signals", "outcomes.stored")


def forgeries(case, about, arrays):
    """Yield files with one thing changed: a label, description, arrays, and what the message must contain."""
    wrong_arrays = [*wrong_entries(case, arrays), *wrong_lists(arrays)]
    wrong_arrays += wrong_forms(arrays) if case in ALL_FORGERIES else []
    for name, array, what, *words in wrong_arrays:
        if ("window" in case or case == "no memory") and (name, what) == ("visits", 10**6):
            continue  # A window forgets: more visits than stored transitions are valid.
        if "window" in case and name == "outcomes.pair" and " at " in str(what):
            continue  # So are outcomes of another visited pair.
        # Sizes follow from these two: the message may name another array that does not fit.
        named = "no agent can continue" if name in ("visits", "outcomes.pair") else name
        yield f"{case}, {name}: {what}", about, arrays | {name: array}, *(words or [named])
    if case not in ALL_FORGERIES:
        return
    for changes, words in wrong_descriptions(case, about):
        yield f"{case}: {changes}", about | changes, arrays, words
    for name in (*arrays, "explorer", "options", "settings", "n_actions", "reward_range", "seed", "learns_q"):
        fewer = [{key: value for key, value in part.items() if key != name} for part in (about, arrays)]
        yield f"{case}: without {name}", *fewer, name


def wrong_entries(case, arrays):
    for name in INDICES:
        array = arrays[name]
        if array.size:
            limits = np.iinfo(array.dtype)
            for value in {limits.max, limits.min, max(limits.min, -2), min(limits.max, 10**6)} - {0, 1}:
                yield name, with_entry(array, np.argmax(array), value), value  # An entry that is in use.
    for name in FLOATS:
        for value in (np.nan, np.inf, -np.inf):
            if arrays[name].size:
                yield name, with_entry(arrays[name], -1, value), value
    if "ensemble" in case:
        for value in (-1.0, 3.0, 1e300, np.nan, 0.5):
            yield "notes", with_entry(arrays["notes"], 0, value), value
    if arrays["planning_marks"].size:
        for place, value in ((0, 1), (-1, 1), (1, 2), (1, 255)):
            yield "planning_marks", with_entry(arrays["planning_marks"], place, value), f"{value} at {place}"


def wrong_lists(arrays):
    """Outcomes of other pairs, more visits than outcomes, and duplicates."""
    for place in range(0, arrays["outcomes.pair"].size, 11):
        pairs = arrays["outcomes.pair"]
        other = pairs[(place + 5) % pairs.size]
        if other != pairs[place]:
            yield "outcomes.pair", with_entry(pairs, place, other), f"{other} at {place}", "outcomes"
        stored = arrays["outcomes.stored"]
        yield "outcomes.stored", with_entry(stored, place, stored[place] + 1), f"one more at {place}"
    yield "state_index", with_entry(arrays["state_index"], 1, arrays["state_index"][0]), "twice"
    if arrays["visits"][-1] == 0:  # There is room for states that were not visited yet.
        yield "visits", with_entry(arrays["visits"], -1, 1), "of a new state"
        if arrays["outcomes.next_state"].size:
            new = arrays["state_index"].max() + 1
            yield "outcomes.next_state", with_entry(arrays["outcomes.next_state"], 0, new), "a new state"


def wrong_forms(arrays):
    for name, array in arrays.items():
        if array.size and name not in ("state_index", "transitions"):
            yield name, array[..., :-1], "short"
            yield name, array[..., :0], "empty"
            yield name, np.concatenate([array, array], axis=-1), "long"
        yield name, np.array(3, array.dtype), "a number"
        yield name, array[None], "one more dimension"
        yield name, array.astype(np.float32), "float32"
        if array.dtype.itemsize > 1:
            yield name, array.astype(array.dtype.newbyteorder()), "other byte order"


def wrong_descriptions(case, about):
    """Other sizes than those of the arrays, and values of other types."""
    settings, options = about["settings"], about["options"]
    for n_actions in (1, 2, 4, 10**9, 2**70):
        yield {"n_actions": n_actions}, ""
    if "window" in case:
        for change in ({"capacity": 10**12}, {"capacity": None}, {"batch": 10**12}, {"memory": "full"}):
            yield {"settings": settings | {"replay": settings["replay"] | change}}, ""
    for heads in (2, 10**9, 2**70) if "heads" in options else ():
        yield {"options": options | {"heads": heads}}, "values" if heads == 2 else "heads"
    for n_states in (5, 10**12):
        yield {"n_states": n_states}, "state_index"
    for name in ("explorer", "options", "settings", "n_actions", "reward_range", "seed", "learns_q"):
        for value in (None, [], {}, "thing", -1, 1e400, {"replay": []}, [[], []]):
            if not (name == "options" and value == {}):
                yield {name: value}, ""


def with_entry(array, place, value):
    copy = array.copy()
    if copy.size:
        copy.flat[place] = value
    return copy


def outcome_of(path):
    """Load a file and let the agent act; return the message of the error or "accepted"."""
    try:
        with np.errstate(all="ignore"):
            agent = wl.Agent.load(path)
            drive([agent], 50, stochastic=True)
    except wl.WanderlustError as error:
        return str(error)
    return "accepted"


def try_forgeries(folder):
    """Print the label and the outcome of every forged file."""
    for case in CASES:
        trained(case).save(folder / "valid.npz")
        about, arrays = contents(folder / "valid.npz")
        for label, forged_about, forged_arrays, words in forgeries(case, about, arrays):
            print(json.dumps(["begin", label, words]), flush=True)
            write_archive(folder / "forged.npz", forged_about, forged_arrays)
            print(json.dumps(["end", outcome_of(folder / "forged.npz")]), flush=True)


def in_another_process(processes, folder, task, *numbers):
    """Run a function of this module in another process and return the JSON lines that it printed."""
    words = [__file__, task, str(folder), *map(str, numbers)]
    # A signal ends it if reading a file does not end.
    code = f"import runpy, signal, sys, warnings; signal.alarm({12 * settings().max_examples})\n"
    code += f"warnings.simplefilter('ignore'); sys.path[:0], sys.argv = {sys.path!r}, {words!r}\n"
    status, out, errors = processes.run(folder, code + f"runpy.run_path({__file__!r}, run_name='__main__')")
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 0, (status, lines[-1:], errors[-3000:])
    return lines


def test_forged_files_are_refused(tmp_path, processes):
    lines = in_another_process(processes, tmp_path, "forgeries")
    assert len(lines) > 1500
    wrong = []
    for (_, label, words), (_, outcome) in zip(lines[::2], lines[1::2], strict=True):
        if f"{tmp_path / 'forged.npz'}: " not in outcome or words not in outcome:
            wrong.append((label, outcome))
    assert not wrong, wrong[:20]


# --- Checkpoints ---------------------------------------------------------------------------------------


def frozen_lake():
    return gym.make("FrozenLake-v1", is_slippery=False)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A checkpoint in the middle of an episode."""
    path = tmp_path_factory.mktemp("checkpoint") / "c.npz"
    wl.learn(frozen_lake(), steps=213, seed=1, save=path, quiet=True)
    return path


def resumed(path, env=None):
    return wl.learn(frozen_lake() if env is None else env, resume=path, steps=260, quiet=True)


JUNK = [None, True, -1, 10**400, float("nan"), "x", [], [[1], 2, 3], {"seed": "x"}, {"random_state": 3}]
ACCEPTED = {
    "episode_start": [None],
    "episode_over": [True],
    "episode_return": [-1],
    "recent_returns": [[]],
    "estimates_reward_range": [True],
    "adapted": [None, []],
    "discovery": [[]],
    "time_penalty": [None, []],
    "metrics": [{"seed": "x"}, {"random_state": 3}],
}
WRONG_FIELDS = [
    ("adapted", ["sweeps"]),
    ("task_estimate", [[1, 0], False, 0]),
    ("task_estimate", [[0, 1], 0, 0]),
    ("task_estimate", [[0, 1], False, 101]),
    ("task_estimate", [[0, 1], False]),
    ("discovery", [1.0, 0.0]),
    ("time_penalty", [[], 0.5]),
    ("time_penalty", [[[1, 0.5], [1, 0.5], [2, 0.5], [3, 0.5]], 0.5]),
    ("time_penalty", [[[1, 0.5], [2, 0.5], [3, 0.5], [4, 0.5]], None]),
    ("time_penalty", [[[1, 0.5], [2, "x"]], None]),
    ("episode_start", {"seed": -1}),
    ("metrics", {"evaluation": "x"}),
]


def rewritten(source, target, *, loop=None, about=None, **arrays):
    """Save a checkpoint with other fields of the loop, of the description, or other arrays; None removes one."""
    found, stored = contents(source)
    found |= about or {}
    found["loop"] = {name: value for name, value in (found["loop"] | (loop or {})).items() if value is not MISSING}
    write_archive(target, found, {n: a for n, a in (stored | arrays).items() if a is not None})
    return target


MISSING = object()


def refusal(path, env=None):
    with pytest.raises(BadFile) as caught:
        resumed(path, env)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_every_field_of_a_checkpoint_is_checked(checkpoint, tmp_path):
    path = tmp_path / "c.npz"
    for name in contents(checkpoint)[0]["loop"]:
        said = refusal(rewritten(checkpoint, path, loop={name: MISSING}))
        assert f"missing required field `{name}`" in said
        for value in JUNK:
            if any(repr(value) == repr(accepted) for accepted in ACCEPTED.get(name, [])):
                continue
            rewritten(checkpoint, path, loop={name: value})
            assert name in refusal(path)
    for name, value in WRONG_FIELDS:
        assert name in refusal(rewritten(checkpoint, path, loop={name: value}))
    state = frozen_lake().unwrapped.np_random.bit_generator.state
    wrong_states = [state | {"state": each} for each in ({}, {"state": -1, "inc": 1}, {"state": 2**200, "inc": 1}, 3)]
    for wrong in (*wrong_states, state | {"bit_generator": "MT19937"}):
        start = {"episode_start": {"random_state": wrong}}
        assert "random_state" in refusal(rewritten(checkpoint, path, loop=start))
    for value in (None, 3, {}, {"name": "FrozenLake-v1"}):
        assert "another environment" in refusal(rewritten(checkpoint, path, about={"environment": value}))
    for value in (None, 3, [], "x"):
        found, arrays = contents(checkpoint)
        write_archive(path, found | {"loop": value}, arrays)
        assert "the field loop is not valid" in refusal(path)


def keyed_lake():
    """States are indexed in the order of their discovery."""
    return wl.tabular(frozen_lake(), key="hash")


@pytest.fixture(scope="module")
def keyed_checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "c.npz"
    wl.learn(keyed_lake(), steps=213, seed=1, save=path, quiet=True)
    return path


def test_arrays_of_a_checkpoint_are_checked(checkpoint, keyed_checkpoint, tmp_path):
    path = tmp_path / "c.npz"

    def text(string):
        return np.frombuffer(string.encode(), np.uint8)

    actions = np.array([0, 1], np.int32)
    for name, arrays in {
        "state_keys": [None, text("{}"), text("[1"), text('[{"b":1}]'), text("3"), text("[" * 10**5), text("[1,1.0]")],
        "episode_actions": [None, actions + 4, actions - 1, actions.astype(float), actions[0], actions[None]],
    }.items():
        for array in [*arrays, np.array(3), np.zeros((2, 2), np.uint8)]:
            assert name in refusal(rewritten(checkpoint, path, **{name: array}))
            assert name in refusal(rewritten(keyed_checkpoint, path, **{name: array}), keyed_lake())
    keys = contents(keyed_checkpoint)[1]["state_keys"].tobytes().decode()
    fewer = json.dumps(json.loads(keys)[:1])  # The last ones may be terminal states, which the agent does not need.
    assert "the agent needs" in refusal(rewritten(keyed_checkpoint, path, state_keys=text(fewer)), keyed_lake())
    assert "n_states" in refusal(rewritten(keyed_checkpoint, path, about={"n_states": 64}), keyed_lake())


class Failing(gym.Wrapper):
    """Raises an exception in its first reset or step."""

    def __init__(self, method):
        super().__init__(frozen_lake())
        self.failures = {method: ConnectionError("the simulator is gone")}

    def _call(self, method, *values, **options):
        if method in self.failures:
            raise self.failures.pop(method)
        return getattr(self.env, method)(*values, **options)

    def reset(self, **options):
        return self._call("reset", **options)

    def step(self, action):
        return self._call("step", action)


def with_other_bits():
    """Its random bits are of a kind whose state is not saved."""
    env = frozen_lake()
    env.reset(seed=0)
    env.unwrapped.np_random = np.random.Generator(np.random.MT19937(0))
    return env


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Failing("reset"), "ConnectionError.*the simulator is gone"),
        (lambda: Failing("step"), "ConnectionError.*the simulator is gone"),
        (with_other_bits, "np_random"),
        (lambda: gym.wrappers.TransformReward(frozen_lake(), lambda reward: reward - 1.0), "np_random"),
    ],
    ids=["reset fails", "step fails", "other bits", "other rewards"],
)
def test_an_environment_that_cannot_be_restored_starts_a_new_episode(make, reason, checkpoint, tmp_path):
    wl.learn(with_other_bits(), steps=213, save=tmp_path / "own.npz", seed=1, quiet=True)  # It can be saved.
    state = frozen_lake().unwrapped.np_random.bit_generator.state
    env, path = wl.tabular(make()), tmp_path / "c.npz"
    start = {"episode_start": {"random_state": state}} if make is with_other_bits else {}
    with pytest.warns(UserWarning, match=rf"c\.npz: .*could not be restored.*{reason}.*new episode"):
        agent = resumed(rewritten(checkpoint, path, loop=start), env)
    assert agent.steps == 260
    assert env.adds_new_states


# --- Fuzzing -------------------------------------------------------------------------------------------


def random_entry(dtype, chance):
    if dtype.kind == "f":
        return chance.choice([0.0, -1.0, 1e308, -1e308, chance.uniform(-1, 1), float("nan"), float("inf")])
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return chance.choice([chance.randint(low, high), high, low, max(-1, low), chance.randrange(99)])


def mutated(array, chance):
    """Return an array with a few random entries, or with another length."""
    if array.size == 0 or chance.random() < 0.2:
        length = chance.choice([0, 1, array.shape[-1] - 1, array.shape[-1] + 1, 2 * array.shape[-1]])
        return np.resize(array, (*array.shape[:-1], max(length, 0)))
    array = array.copy()
    for _ in range(chance.choice([1, 1, 1, 5, array.size])):
        array.flat[chance.randrange(array.size)] = random_entry(array.dtype, chance)
    return array


def mutated_json(value, chance):
    """Return a JSON value with one part replaced or removed."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        if chance.random() < 0.1:
            return {n: v for n, v in value.items() if n != name}
        return value | {name: mutated_json(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], mutated_json(value[place], chance), *value[place + 1 :]]
    return chance.choice([*JUNK, 0, 1, 2, 7, 1e-9, 1e308, 2**63, False, "full", "window", "vv-ucb"])


def resume_outcome(path):
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            steps = wl.Agent.load(path).steps + 50
            wl.learn(frozen_lake(), resume=path, steps=min(max(steps, 1), 10**6), quiet=True)
    except wl.WanderlustError as error:
        return str(error)
    return "accepted"


def fuzz(folder, seed, n):
    """Print each mutation before its file is loaded, and the outcome."""
    chance, path = random.Random(seed), folder / "fuzzed.npz"
    wl.learn(frozen_lake(), steps=213, seed=1, save=folder / "checkpoint.npz", quiet=True)
    sources = [(folder / "checkpoint.npz", resume_outcome)]
    for case in CASES:
        trained(case, 150).save(folder / f"{case}.npz")
        sources.append((folder / f"{case}.npz", outcome_of))
    for i in range(n):
        source, outcome = sources[i % len(sources)]
        kind = chance.choice(["array", "array", "description"])
        about, arrays = contents(source)
        name = chance.choice(sorted(arrays)) if kind == "array" else ""
        print(json.dumps(["begin", i, source.name, kind, name]), flush=True)
        if kind == "array":
            write_archive(path, about, arrays | {name: mutated(arrays[name], chance)})
        else:
            field = chance.choice(sorted(about))
            write_archive(path, about | {field: mutated_json(about[field], chance)}, arrays)
        print(json.dumps(["end", outcome(path)]), flush=True)


@pytest.mark.fuzz
def test_mutated_files_are_refused_or_work(tmp_path, processes):
    n = 5 * settings().max_examples
    lines = in_another_process(processes, tmp_path, "fuzz", 0 if settings().derandomize else random.randrange(10**9), n)
    outcomes = [line[1] for line in lines if line[0] == "end"]
    assert len(outcomes) == n
    wrong = [
        (begin, outcome)
        for begin, (_, outcome) in zip(lines[::2], lines[1::2], strict=True)
        if outcome != "accepted" and str(tmp_path / "fuzzed.npz") not in outcome
    ]
    assert not wrong, wrong[:10]
    assert outcomes.count("accepted") < 2 * n / 3


if __name__ == "__main__":
    os.fsync, np.savez_compressed = lambda descriptor: None, np.savez  # As in `fast_files`.
    task, where, *numbers = sys.argv[1:]
    {"forgeries": try_forgeries, "fuzz": fuzz}[task](Path(where), *map(int, numbers))
