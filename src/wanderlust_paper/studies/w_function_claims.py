"""The statements of Sections 3.2 to 3.4 about the W-functions and auxiliary rewards, checked with the agents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from wanderlust import formulas, make_world
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust_paper.claims import Claim, exact_claim
from wanderlust_paper.studies.toy_agents import (
    DISCOUNT,
    EPISODES,
    after_visits,
    best,
    converge,
    new_agent,
    observe_all,
    observe_episode,
    scores,
)

_PLACE = "3.4"
_GAMMAS = (0.0, 0.5, 0.9, 0.99)
_UNVISITED = ((0, 0),)
_EQUAL = 1e-7
_SWEEPS = 3000
N_STATES, N_ACTIONS = 9, 4
_TIMES = 3
_ROUNDING = 1e-6
_SIZES, _BOUND_GAMMAS = range(2, 13), (0.0, 0.3, 0.9, 0.99, 0.999)


def _independent() -> Iterator[Claim]:
    agents = [after_visits("vv-ucb", gamma_w, 1, _UNVISITED).tables for gamma_w in _GAMMAS]
    q, w = (max(_difference(agents[0][name], each[name]) for each in agents) for name in ("target", "visitation"))
    yield exact_claim(
        _PLACE,
        "W does not influence the Q-function, so γ_w can differ from γ",
        f"toy example, vv-ucb with γ_w = {_GAMMAS[0]:g} to {_GAMMAS[-1]:g} after the same transitions: largest "
        f"difference of Q {q:.1g}, of W {w:.2g}",
        holds=q == 0.0 and w > 0.0,
    )


def _stationary() -> Iterator[Claim]:
    """Compare the tables after one and after three visits of every pair."""
    augmented = _difference(*(after_visits("bonus", 0.9, n, _UNVISITED).tables["behaviour"] for n in (1, 3)))
    once, thrice = (after_visits("vv-ucb", 0.9, n, _UNVISITED).tables for n in (1, 3))
    q, w = (_difference(once[name], thrice[name]) for name in ("target", "visitation"))
    yield exact_claim(
        _PLACE,
        "an auxiliary reward makes the target of the Q-function non-stationary; a separate W-function does not",
        "toy example, the same transitions once and three times, largest difference: augmented Q-function "
        f"{augmented:.2g}, Q beside W {q:.1g}, W {w:.2g}",
        holds=q < _EQUAL < min(augmented, w),
    )


def _not_equivalent() -> Iterator[Claim]:
    """Compare Q + αW with the Q-function of the reward r + αrʷ, for the same transitions and counts.

    The visits of the agent that explored are not uniform, and γ_w is γ.
    """
    world = make_world("toy-example", terminal=False)
    agent = new_agent("vv-ucb", world)
    observe_all(agent, world)
    for actions in EPISODES:
        observe_episode(agent, world, actions)
    converge(agent)
    mdp, discount = world.mdp, agent.settings.discount
    # α = κ (1 - γ_w); the paper's κ is the largest difference of two values.
    alpha = world.r_max / (1.0 - DISCOUNT) * (1.0 - discount)
    separate = agent.tables["target"] + alpha * agent.tables["visitation"]
    visits = agent.visits
    bonus = np.array([[formulas.ucb(int(n), int(row.sum()), 0.0) for n in row] for row in visits])
    together = _fixed_point(mdp, mdp.reward[:, :, 0] + alpha * bonus, discount)
    cells = sum(best(a) != best(b) for a, b in zip(separate, together, strict=True))
    error = _difference(separate, together)
    yield exact_claim(
        _PLACE,
        "a W-function is not equivalent to an auxiliary reward: the maximum of a sum is not the sum of the maxima",
        f"toy example with non-terminal treasures, γ_w = γ: the values differ by up to {error:.3g}, the best "
        f"actions in {cells} of {mdp.n_states} cells",
        holds=error > _EQUAL,
    )


def _fixed_point(mdp: TabularMDP, reward: FloatArray, discount: float) -> FloatArray:
    """Return the optimal action values of a deterministic MDP for another reward."""
    q = np.zeros_like(reward)
    following = np.where(mdp.terminal[:, :, 0], 0.0, discount)
    for _ in range(_SWEEPS):
        q = reward + following * q.max(axis=1)[mdp.next_state[:, :, 0]]
    return q


def _difference(a: FloatArray, b: FloatArray) -> float:
    return float(np.abs(a - b).max())


def _identical_visits() -> Iterator[Claim]:
    expected = {"vv-ucb": formulas.ucb(_TIMES, N_ACTIONS * _TIMES, 0.0), "vv-count": float(_TIMES)}
    names = {"vv-ucb": "the discounted immediate UCB (Eq. 13)", "vv-count": "the discounted cumulative count (Eq. 18)"}
    for explorer, immediate in expected.items():
        errors = []
        for gamma_w in _GAMMAS:
            w = after_visits(explorer, gamma_w, _TIMES, ()).tables["visitation"]
            errors.append(float(np.abs((1.0 - gamma_w) * w / immediate - 1.0).max()))
        yield exact_claim(
            "3.2",
            f"with identical visits of all pairs, the W of {explorer} is {names[explorer]}",
            f"largest relative difference in the toy example, γ_w = 0 to 0.99: {max(errors):.1g}",
            holds=max(errors) < _ROUNDING,
        )


def _gamma_w_0() -> Iterator[Claim]:
    """Check that γ_w = 0 gives UCB1: its policy, and for vv-count the same values."""
    skip = ((0, 0), (1, 2), (5, 3))
    agents = {name: after_visits(name, 0.0, 2, skip) for name in ("ucb1", "vv-ucb", "vv-count")}
    values = {name: np.stack([scores(agent, s) for s in range(N_STATES)]) for name, agent in agents.items()}
    error = float(np.abs(values["vv-count"] / values["ucb1"] - 1.0).max())
    for name in ("vv-ucb", "vv-count"):
        same = sum(best(a) == best(b) for a, b in zip(values[name], values["ucb1"], strict=True))
        yield exact_claim(
            "3.2",
            f"with γ_w = 0 the policy of {name} is equivalent to UCB1",
            f"the same best actions in {same} of {N_STATES} cells of the toy example"
            + (f"; largest relative difference of the values: {error:.1g}" if name == "vv-count" else ""),
            holds=same == N_STATES and (name == "vv-ucb" or error < _ROUNDING),
        )


def _uneven() -> Iterator[Claim]:
    gamma_w = 0.9
    w = after_visits("vv-count", gamma_w, 1, ((0, 0),)).tables["visitation"]
    counts = np.delete((1.0 - gamma_w) * w.ravel(), 0)
    yield exact_claim(
        "3.3",
        "uniform counts do not imply uniform pseudocounts (Eq. 26); the smallest is 1 − γ_w, the highest is 1",
        f"toy example with one pair not visited, γ_w = {gamma_w}: from {counts.min():.3g} to {counts.max():.3g}",
        holds=bool(0.1 - _ROUNDING <= counts.min() < counts.max() <= 1.0 + _ROUNDING),
    )


def _bounds() -> Iterator[Claim]:
    """Check both bounds for many numbers of actions and discounts, with Q as far against the action as possible."""
    cases = list(product(_SIZES, _BOUND_GAMMAS))
    preferred, defined = 0, 0
    for size, gamma_w in cases:
        w = formulas.long_term_ucb_bound(size, 1.0, gamma_w) * (1.0 + 1e-9)
        target = (2.0 * np.log(size - 1)) ** 0.5 + gamma_w * w
        preferred += formulas.long_term_ucb(w, gamma_w) > 1.0 + formulas.long_term_ucb(float(target), gamma_w)
        smallest = 1.0 - gamma_w
        visited = formulas.ucb(smallest, smallest + size - 2, 1.0)
        defined += formulas.untried_pseudocount_ucb(size, 1.0, gamma_w, plus=1.0) >= (1.0 + visited) * (1.0 - 1e-12)
    actions = f"{_SIZES[0]} to {_SIZES[-1]} actions, γ_w = {_BOUND_GAMMAS[0]:g} to {_BOUND_GAMMAS[-1]:g}"
    yield exact_claim(
        "3.3",
        "initializing W as in Eq. 24 guarantees that an action that was not executed yet is selected",
        f"in {preferred} of {len(cases)} worst cases: {actions}",
        holds=preferred == len(cases),
    )
    yield exact_claim(
        "3.3",
        "replacing U by the bound of Eq. 27 guarantees the same for W as a count",
        f"with +1 inside the logarithm, as the text says, in {defined} of {len(cases)} worst cases: {actions}; the "
        "equation as printed is undefined for two actions",
        holds=False,
        partly=defined == len(cases),
    )


def _terminal_rule() -> Iterator[Claim]:
    """Compare W with and without the factor 1/(1 − γ_w) of terminal pairs, in the cells beside the treasures.

    The UCB would avoid a treasure that was executed less often than all other pairs; the count would be driven to one
    that was executed more often.
    """
    mdp = make_world("toy-example").mdp
    moves, terminal = mdp.next_state[:, :, 0], mdp.terminal[:, :, 0]
    treasures = set(np.flatnonzero(terminal.any(axis=1)).tolist())
    beside = [s for s in range(mdp.n_states) if s not in treasures and treasures & set(moves[s].tolist())]

    def enters(sign: float, few: int, factor: float) -> int:
        """Return in how many of the cells beside a treasure a best action enters it."""
        n = np.full(terminal.shape, 3)
        n[list(treasures)] = few
        ucb = np.vectorize(lambda k, total: formulas.ucb(int(k), int(total), 0.0))(n, n.sum(axis=1, keepdims=True))
        reward = ucb if sign > 0 else -n.astype(float)
        w = _fixed_point(mdp, np.where(terminal, factor, 1.0) * reward, DISCOUNT)
        return sum(bool(treasures & {int(moves[s, a]) for a in best(w[s])}) for s in beside)

    rule = 1.0 / (1.0 - DISCOUNT)
    for name, sign, few, claim in (
        ("ucb", 1.0, 1, "vv-ucb without the terminal rule: the agent would not visit terminal states again"),
        (
            "count",
            -1.0,
            30,
            "vv-count without the terminal rule: the agent would be constantly driven to terminal states",
        ),
    ):
        without, with_it = enters(sign, few, 1.0), enters(sign, few, rule)
        expected = (0, len(beside)) if name == "ucb" else (len(beside), 0)
        yield exact_claim(
            "3.2",
            claim,
            f"toy example, every pair executed 3 times, those of the treasures {few}: they are entered from {without} "
            f"of {len(beside)} cells beside them without the rule, from {with_it} with it",
            holds=(without, with_it) == expected,
            partly=without == expected[0] or with_it == expected[1],
        )


def _equal_counts() -> Iterator[Claim]:
    """Add visits to the start of the toy example until all its actions have the same count."""
    world = make_world("toy-example")
    agent = new_agent("ucb1", world)
    for actions in EPISODES:
        observe_episode(agent, world, actions)
    counts, at = agent.visits[0], (0, slice(None), 0)
    for action in range(N_ACTIONS):
        for _ in range(int(counts.max() - counts[action])):
            following, terminal = int(world.mdp.next_state[at][action]), bool(world.mdp.terminal[at][action])
            agent.observe(0, action, 0.0, following, terminal)
    chosen = best(scores(converge(agent), 0))
    yield exact_claim(
        "3.1",
        "UCB1: only when the count will be equal for all actions, the policy will select a random action",
        f"in (1,3) with equal counts {len(chosen)} of {N_ACTIONS} actions {'is' if len(chosen) == 1 else 'are'} best: "
        "the Q-values decide, and they differ",
        holds=len(chosen) == N_ACTIONS,
    )


W_FUNCTION_CHECKS = (_identical_visits, _gamma_w_0, _uneven, _bounds, _terminal_rule, _equal_counts)
AUXILIARY_REWARD_CHECKS = (_independent, _stationary, _not_equivalent)
