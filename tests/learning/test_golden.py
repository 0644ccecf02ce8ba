"""Our agents against recorded runs of the original authors' code: replaying the same steps, they learn the same.

Ties are broken at random, there by other random numbers than here, so an action is compared with the *set* of best
actions, a return with the range that ties allow. Sums taken in another order differ in their last bits, which now and
then decides a tie: `BITS` allows for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import wanderlust as wl
from conftest import ENSEMBLES, PAPER_EXPLORERS
from recorded_runs import NAMES as ALL
from recorded_runs import Array, Followed, recording, world_of
from wanderlust.core.planning import policy_values, uniform_over_ties

pytestmark = pytest.mark.slow

EXACT = {"rtol": 1e-9, "atol": 1e-13}
# Values of the chain span ten orders of magnitude in one linear system.
SOLVED = {"rtol": 1e-9, "atol": 1e-11}
BITS = 1e-14

GREEDY = ("vv-ucb", "vv-count", "ucb1", *ENSEMBLES)
DITHERING = ("epsilon-greedy", "bonus")


def best_actions(scores: Array) -> Array:
    """[..., action]: whether an action's score is the largest, but for the last bits."""
    best = scores.max(axis=-1, keepdims=True)
    return scores >= best - BITS * np.abs(best)


def readings(table: Array) -> Iterator[Array]:
    """Return every greedy policy of a table, each uniform over ties, that its last bits may stand for."""
    best = best_actions(table)
    unsure = np.flatnonzero((best.sum(axis=1) > 1) & (table.max(axis=1) != 0.0))
    ties = [np.flatnonzero(best[state]) for state in unsure]
    choices = [[c for n in range(1, len(tied) + 1) for c in itertools.combinations(tied, n)] for tied in ties]
    for chosen in itertools.product(*choices):
        policy = uniform_over_ties(table)
        for state, actions in zip(unsure, chosen, strict=True):
            policy[state] = 0.0
            policy[state, list(actions)] = 1.0 / len(actions)
        yield policy


def test_every_recording_is_there():
    assert len(ALL) == 102


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.exhaustive if name.endswith("_s2") else ()) for name in ALL]
)
def test_recording(name):
    """Follow a recording once, and compare all that was recorded."""
    run = recording(name)
    assert run.explorer in PAPER_EXPLORERS
    check_transitions(run)
    ours = Followed(run)
    check_settings_and_constants(run, ours.agent)
    check_counts_and_tables(run, ours)
    if run.explorer in GREEDY:
        check_actions(run, ours)
    if run.explorer in DITHERING:
        check_share_of_random_actions(run, ours)
    check_explanations(run, ours.agent)
    if run.suite == "chain27":
        check_value_errors(run, ours)
    else:
        np.testing.assert_array_equal(ours.discovered, run.data["VC_history"])
        (check_values_under_noise if run.suite == "noise" else check_returns)(run, ours)


def check_transitions(run):
    """They are those of our world."""
    mdp, d = world_of(run.suite, run.place).mdp, run.data
    states, actions, over = d["s"], d["a"], d["done"] == 1
    outcome = (mdp.next_state[states, actions] == d["sn"][:, None]) & (mdp.probability[states, actions] > 0)
    assert (outcome.any(axis=1) | over).all()
    possible = mdp.probability[states, actions] > 0
    same_end = mdp.terminal[states, actions] == over[:, None]
    same_reward = np.isclose(mdp.reward[states, actions], d["r"][:, None], **EXACT)
    agrees = possible & same_end & same_reward & (outcome | over[:, None])
    assert agrees.any(axis=1).all()
    starts = np.flatnonzero(over | run.truncated)[:-1] + 1
    starts = starts[starts < run.length]
    assert (mdp.start[states[starts]] > 0).all()


def check_settings_and_constants(run, agent):
    d = run.data
    settings, fields = agent.settings, agent.configured_explorer._asdict()
    assert (settings.discount, settings.learning_rate) == (d["gamma"], d["lrate"])
    assert settings.gamma_w == d["gamma_vv"]
    if run.suite != "chain27":
        assert (settings.horizon, settings.budget) == (d["maxsteps"], d["budget"])
    assert settings.problem(agent.n_actions, agent.reward_range).value_range == d["K"]
    expected = {}
    if run.explorer in ("vv-ucb", "vv-count"):
        expected |= {"kappa": d["K"], "gamma_w": d["gamma_vv"]}
    if run.explorer == "vv-ucb":
        # Their bound is strict by 1e-8, and the table starts another 1e-8 above it.
        expected["initial"] = d["max_VVA"] + 1e-8
    if run.explorer == "vv-count":
        expected["untried"] = d["maxU"]
    if run.explorer == "ucb1":
        expected["kappa"] = d["maxU"]
    if run.explorer == "bonus" and "beta" in d:
        expected["scale"] = d["beta"]
    if run.explorer in DITHERING:
        expected |= {"decay": d["epsilon_decay"]} if "epsilon_decay" in d else {"decay": 1.0, "epsilon": 0.1}
    for field, value in expected.items():
        np.testing.assert_allclose(fields[field], value, rtol=1e-13, err_msg=field)


def check_counts_and_tables(run, ours):
    d = run.data
    for i, step in enumerate(d["ck_steps"]):
        tables = ours.tables[i]
        np.testing.assert_array_equal(ours.visits[i], d["VCA_ck"][i])
        if run.explorer in ENSEMBLES:
            behaviour, recorded = tables["heads"], d["QB_ck"][i].transpose(2, 0, 1)
        else:
            behaviour, recorded = tables["behaviour"], d["QB_ck"][i]
        # The authors' random policy has a behaviour table that nothing ever updates.
        pairs = [] if run.explorer == "random" else [("behaviour", behaviour, recorded)]
        if "QT_ck" in d:
            pairs.append(("target", tables["target"], d["QT_ck"][i]))
        if "visitation" in tables:
            pairs.append(("visitation", tables["visitation"], d["VVA_ck"][i]))
        for table, mine, theirs in pairs:
            np.testing.assert_allclose(mine, theirs, **EXACT, err_msg=f"{table} table after {step} steps")


def check_actions(run, ours):
    """Every action is one of our best."""
    best = best_actions(ours.scores)
    wrong = np.flatnonzero(~best[np.arange(run.length), run.data["a"]])
    assert not len(wrong), f"first at step {wrong[0]}: {run.data['a'][wrong[0]]} by {ours.scores[wrong[0]]}"


def check_share_of_random_actions(run, ours):
    best = best_actions(ours.scores)
    explorer = ours.agent.configured_explorer
    off = explorer.epsilon * explorer.decay ** np.arange(run.length) * (1.0 - best.mean(axis=1))
    seen = int((~best[np.arange(run.length), run.data["a"]]).sum())
    assert abs(seen - off.sum()) <= 4.0 * np.sqrt((off * (1.0 - off)).sum())


def check_explanations(run, agent):
    """They show the scores that are compared."""
    for state in np.unique(run.data["s"])[:3].tolist():
        explanation = agent.explain(state)
        scores = np.array([reason.score for reason in explanation.actions])
        before = agent.learner.streams.copy()
        action = agent.act(state)
        agent.learner.streams[:] = before
        assert action == explanation.chosen
        if agent.explorer in GREEDY and agent.explorer != "thompson":
            np.testing.assert_array_equal(scores, agent.learner.scores)
            assert scores[action] == scores.max()


def check_returns(run, ours):
    """Of the greedy policy."""
    d, returns = run.data, np.array(ours.returns)
    # Their first evaluation is of a random policy, before the first step.
    lowest, highest, recorded = (d[key][1:] for key in ("J_lo", "J_hi", "J_history"))
    assert len(returns) == len(recorded)
    assert (returns >= lowest - 1e-12).all()
    assert (returns <= highest + 1e-12).all()
    sure = lowest == highest
    np.testing.assert_allclose(returns[sure], recorded[sure], **EXACT)


def check_values_under_noise(run, ours):
    """The authors' model has no step penalty, and they report the value of the first cell."""
    changes = {"step_penalty": 0.0} if run.place == "prison" else {}
    mdp, discount = wl.make_world(f"noisy-{run.place}", **changes).mdp, float(run.data["gamma"])
    recorded = run.data["J_history"]
    tables = [ours.evaluated[t] for t in range(1, len(recorded) + 1)]
    values = policy_values(mdp, [uniform_over_ties(table) for table in tables], discount)[:, 0]
    unsure = np.flatnonzero(~np.isclose(values, recorded, **SOLVED))
    for t in unsure:
        possible = policy_values(mdp, list(readings(tables[t])), discount)[:, 0]
        assert np.isclose(possible, recorded[t], **SOLVED).any(), f"after {t + 1} steps"
    assert len(unsure) < 0.05 * run.length


def check_value_errors(run, ours):
    """They were recorded before each step's update."""
    d, mdp = run.data, world_of(run.suite, run.place).mdp
    steps = sorted(run.solved_after)
    policies = [uniform_over_ties(ours.evaluated[t]) for t in steps]
    values = dict(zip(steps, policy_values(mdp, policies, d["gamma"]), strict=True))
    np.testing.assert_allclose([values[t][d["s"][t]] for t in steps], d["Vt"][steps], **SOLVED)
    errors = [((values[t] - d["V_STAR"]) ** 2).mean() for t in steps]
    np.testing.assert_allclose(errors, d["MSVE"][steps], **SOLVED)
    recorded = dict(zip(d["V_steps"] - 1, d["V_at"], strict=True))
    for t, v in recorded.items():
        np.testing.assert_allclose(values[t], v, **SOLVED)
