r"""The figures, tables, equations and algorithms of the paper, by number, with the code of each.

Only what the code cannot tell is written here: titles, sections, formulas, and the functions of the equations that no
docstring cites. `paper_map` adds the studies of `Study.reference` and the citations of the docstrings.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL = ("vv-ucb", "vv-count", "random-prior", "bootstrapped", "thompson", "ucb1", "bonus", "epsilon-greedy", "random")
VV = ("vv-ucb", "vv-count")
ENSEMBLES = ("bootstrapped", "random-prior", "thompson")


@dataclass(frozen=True)
class Item:
    """A numbered item of the paper."""

    kind: str
    number: int
    title: str
    section: str
    command: str = ""
    """Empty: the command of its study."""
    worlds: tuple[str, ...] = ()
    explorers: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    """Names below `wanderlust.`, the most important first."""
    formula: str = ""
    """LaTeX."""

    @property
    def label(self) -> str:
        """The anchor of its section, such as "figure-7"."""
        return f"{self.kind.lower()}-{self.number}"

    @property
    def name(self) -> str:
        """Its name in the paper, such as "Figure 7"; equations are "Eq. 12"."""
        return f"{'Eq.' if self.kind == 'Equation' else self.kind} {self.number}"


def _world(number: int, title: str, section: str, world: str, factory: str) -> Item:
    """Return a figure that shows an environment."""
    functions = (f"worlds.{factory}", "worlds.drawing.draw_world")
    return Item("Figure", number, title, section, f"wanderlust worlds --draw {world}", (world,), ALL, functions)


def _curves(kind: str, number: int, title: str, section: str, world: str) -> Item:
    command = f"wanderlust reproduce recap --worlds {world}"
    return Item(kind, number, title, section, command, (world,), ALL, ("wanderlust_paper.studies.recap.runs",))


_TOY_EXAMPLE = ("wanderlust_paper.studies.toy_example.report",)
_GAMMA_W = ("wanderlust_paper.studies.gamma_w.runs", "wanderlust_paper.studies.gamma_w.report")
_CHAIN = ("wanderlust_paper.studies.chain.runs", "wanderlust_paper.studies.chain.report")

FIGURES = (
    Item(
        "Figure", 1, "a chain in which ε-greedy exploration takes exponentially many attempts", "1",
        "wanderlust reproduce environments", ("deep-sea",), ("epsilon-greedy", *VV),
        ("wanderlust_paper.studies.example_worlds.problem_chain", "wanderlust_paper.studies.example_worlds.attempts"),
    ),
    Item(
        "Figure", 2, "the toy example", "3.1", "wanderlust worlds --draw toy-example", ("toy-example",),
        ("ucb1", "bonus", *VV), ("worlds.paper_worlds.toy_example", "worlds.drawing.draw_world"),
    ),
    Item(
        "Figure", 3, "toy example, part 1: policies that use immediate counts", "3.1",
        worlds=("toy-example",), explorers=("ucb1", "bonus"), functions=_TOY_EXAMPLE,
    ),
    Item(
        "Figure", 4, "toy example, part 2: policies that use W", "3.2",
        worlds=("toy-example",), explorers=VV, functions=_TOY_EXAMPLE,
    ),
    Item(
        "Figure", 5, "a chain with uniform counts and unequal pseudocounts", "3.3",
        "wanderlust reproduce environments", ("toy-example",), ("vv-count",),
        ("wanderlust_paper.studies.example_worlds.uniform_count_chain", "explorers.formulas.untried_pseudocount_ucb",
         "explorers.formulas.pseudocount"),
    ),
    Item(
        "Figure", 6, "toy example, part 3: policies under uniform visit counts", "3.3",
        worlds=("toy-example",), explorers=("bonus", "ucb1", *VV), functions=_TOY_EXAMPLE,
    ),
    _world(7, "the deep sea", "4.1.1", "deep-sea", "paper_worlds.deep_sea"),
    _curves("Figure", 8, "results in the deep sea", "4.1.1", "deep-sea"),
    _world(9, "the taxi driver", "4.1.2", "taxi", "paper_worlds.taxi"),
    _curves("Figure", 10, "results in the taxi domain", "4.1.2", "taxi"),
    _world(11, "the deep gridworld", "4.1.3", "deep-gridworld", "paper_worlds.deep_gridworld"),
    _curves("Figure", 12, "results in the deep gridworld", "4.1.3", "deep-gridworld"),
    _world(13, "the toy gridworld", "4.1.4", "toy", "paper_worlds.toy"),
    _world(14, "the prison gridworld", "4.1.4", "prison", "paper_worlds.prison"),
    _world(15, "the wall gridworld", "4.1.4", "wall", "paper_worlds.wall"),
    _curves("Figure", 16, "results in the toy gridworld", "4.1.4", "toy"),
    _curves("Figure", 17, "results in the prison gridworld", "4.1.4", "prison"),
    _curves("Figure", 18, "results in the wall gridworld", "4.1.4", "wall"),
    Item(
        "Figure", 19, "visit counts at the end of learning", "4.2.1",
        functions=("wanderlust_paper.studies.visit_maps.runs", "wanderlust_paper.studies.visit_maps.report"),
    ),
    Item("Figure", 20, "performance for different γ_w", "4.2.2", functions=_GAMMA_W),
    Item("Figure", 21, "visit counts for different γ_w", "4.2.2", functions=_GAMMA_W),
    Item(
        "Figure", 22, "steps to learn against the depth of the deep sea", "4.2.3",
        functions=(
            "wanderlust_paper.studies.deep_sea_scaling.runs",
            "wanderlust_paper.studies.deep_sea_scaling.steps_to_learn",
        ),
    ),
    Item("Figure", 23, "visit counts in the chain over time", "4.2.4", functions=_CHAIN),
    _world(24, "the ergodic chain", "4.2.4", "chain", "paper_worlds.chain"),
    Item("Figure", 25, "sample complexity against the length of the chain", "4.2.4", functions=_CHAIN),
    Item(
        "Figure", 26, "sample complexity against ε, and the value error over time", "4.2.4",
        functions=(*_CHAIN, "experiments.world_run.value_measures"),
    ),
    Item(
        "Figure", 27, "gridworlds with stochastic transitions", "4.2.5",
        functions=("wanderlust_paper.studies.stochastic.runs", "worlds.slips.apply_slips"),
    ),
    Item(
        "Figure", 28, "learning with and without replay memory", "A.5",
        functions=("wanderlust_paper.studies.memory.runs", "learning.update.learn_with_limited_memory"),
    ),
)

TABLES = (
    Item(
        "Table", 1, "recap of all worlds, zero initialization, short horizon", "4.1", "wanderlust reproduce recap",
        functions=("wanderlust_paper.studies.recap.runs", "wanderlust_paper.studies.recap.compare_cell"),
    ),
    Item(
        "Table", 2, "horizons of the worlds", "A.4", "wanderlust worlds",
        ("deep-sea", "taxi", "deep-gridworld", "toy", "prison", "wall", "noisy-toy", "noisy-prison",
         "noisy-deep-gridworld"), ALL, ("worlds.base.Defaults",),
    ),
    _curves("Table", 3, "deep sea", "A.6", "deep-sea"),
    _curves("Table", 4, "taxi", "A.6", "taxi"),
    _curves("Table", 5, "deep gridworld", "A.6", "deep-gridworld"),
    _curves("Table", 6, "gridworld (toy)", "A.6", "toy"),
    _curves("Table", 7, "gridworld (prison)", "A.6", "prison"),
    _curves("Table", 8, "gridworld (wall)", "A.6", "wall"),
)



def _train(explorer: str) -> str:
    return f"wanderlust train prison --explorer {explorer} --steps 1000"


def _equation(
    number: int, title: str, section: str, formula: str, explorers: tuple[str, ...], *functions: str, command: str = ""
) -> Item:
    command = command or _train(explorers[0])
    return Item("Equation", number, title, section, command, (), explorers, functions, formula)


_TD = ("learning.td.td_target", "learning.td.td_update", "learning.sweep.mean_td_target")
_W_TARGET = ("learning.td.td_target", "learning.td.best_action_value", "learning.sweep.mean_td_target")
_UCB = r"\sqrt{\frac{2 \log \sum_{a_j} n(s_t, a_j)}{n(s_t, a_t)}}"
_BOUND = "explorers.formulas.long_term_ucb_bound"
_BOUND_N = "explorers.formulas.untried_pseudocount_ucb"
_UCB_REWARD = ("explorers.visitation.VvUcb.visitation_reward", "explorers.visitation.VvUcb.terminal_visitation_reward")
_COUNT_REWARD = (
    "explorers.visitation.VvCount.visitation_reward", "explorers.visitation.VvCount.terminal_visitation_reward",
)

EQUATIONS = (
    _equation(1, "optimal action values", "2.1", r"Q^*(s,a) = \max_\pi E[Q^\pi(s,a)]", ALL,
              "core.planning.optimal_values"),
    _equation(2, "action values of a policy", "2.1",
              r"Q^\pi(s_t,a_t) = E\left[\sum_{i=t}^{H} \gamma^{i-t} r_i\right]", ALL,
              "core.planning.policy_value"),
    _equation(3, "Q-learning update", "2.1", r"Q_{i+1}(s_t,a_t) = Q_i(s_t,a_t) + \eta\, \delta(s_t,a_t,s_{t+1})", ALL,
              "learning.td.td_update", "learning.sweep.sweep"),
    _equation(4, "TD error of Q", "2.1",
              r"\delta(s_t,a_t,s_{t+1}) = r_t + \gamma \max_a Q_i(s_{t+1},a) - Q_i(s_t,a_t)", ALL, *_TD),
    _equation(5, "UCB1", "3.1", rf"Q^\beta(s,a) = Q^\pi(s,a) + \kappa {_UCB.replace('s_t', 's').replace('a_t', 'a')}",
              ("ucb1",)),
    _equation(6, "exploration bonus", "3.1", r"r_t^+ = r_t + \alpha\, n(s_t,a_t)^{-1/2}", ("bonus",)),
    _equation(7, "visitation value W", "3.2",
              r"W^\beta(s_t,a_t) = E\left[\sum_{i=t}^{H} \gamma_w^{i-t} r_i^W\right]", VV,
              "explorers.protocol.Visitation", *_W_TARGET[:1]),
    _equation(8, "update of W", "3.2", r"W_{i+1}(s_t,a_t) = W_i(s_t,a_t) + \eta\, \delta^W(s_t,a_t,s_{t+1})", VV,
              "learning.td.td_update", "learning.sweep.sweep"),
    _equation(9, "behaviour policy with W", "3.2",
              r"\beta(s) = \arg\max_a \left\{ Q^\pi(s,a) + \kappa\, U_W(s,a) \right\}", VV,
              "explorers.visitation.VvUcb.score", "explorers.visitation.VvCount.score",
              "explorers.choice.greedy_action"),
    _equation(10, "visitation reward as a UCB; divided by 1 − γ_w if the transition terminates", "3.2",
              rf"r_t^W = {_UCB}", ("vv-ucb",), *_UCB_REWARD, "explorers.formulas.ucb"),
    _equation(11, "W as a long-term UCB", "3.2",
              rf"W_{{ucb}}(s_t,a_t) = \sum_{{i=t}}^{{H}} \gamma_w^{{i-t}} {_UCB.replace('_t', '_i')}", ("vv-ucb",),
              *_UCB_REWARD[:1]),
    _equation(12, "TD error of W as a UCB; its target is r^W alone if the transition terminates", "3.2",
              r"\delta^W(s_t,a_t,s_{t+1}) = r_t^W + \gamma_w \max_a W_i(s_{t+1},a) - W_i(s_t,a_t)", ("vv-ucb",),
              *_W_TARGET),
    _equation(13, "W as a UCB under uniform visit counts", "3.2",
              rf"W_{{ucb}}(s_t,a_t) = \frac{{1}}{{1-\gamma_w}} {_UCB}", ("vv-ucb",),
              "explorers.formulas.long_term_ucb"),
    _equation(14, "behaviour policy of vv-ucb", "3.2",
              r"\beta(s_t) = \arg\max_a \left\{ Q^\pi(s_t,a) + \kappa (1-\gamma_w) W_{ucb}(s_t,a) \right\}",
              ("vv-ucb",)),
    _equation(15, "visitation reward as a count; divided by 1 − γ_w if the transition terminates", "3.2",
              r"r_t^W = n(s_t,a_t)", ("vv-count",), *_COUNT_REWARD),
    _equation(16, "W as a long-term count", "3.2",
              r"W_n(s_t,a_t) = \sum_{i=t}^{H} \gamma_w^{i-t} n(s_i,a_i)", ("vv-count",), *_COUNT_REWARD[:1]),
    _equation(17, "TD error of W as a count; its target is r^W alone if the transition terminates", "3.2",
              r"\delta^W(s_t,a_t,s_{t+1}) = r_t^W + \gamma_w \min_a W_i(s_{t+1},a) - W_i(s_t,a_t)", ("vv-count",),
              *_W_TARGET),
    _equation(18, "W as a count under uniform visit counts", "3.2",
              r"W_n(s_t,a_t) = \frac{1}{1-\gamma_w} n(s_t,a_t)", ("vv-count",), "explorers.formulas.pseudocount"),
    _equation(19, "behaviour policy of vv-count, with the pseudocount n̂ = (1 − γ_w) W", "3.2",
              r"\beta(s_t) = \arg\max_a \left\{ Q^\pi(s_t,a) + \kappa"
              r"\sqrt{\frac{2 \log \sum_{a_j} \hat n(s_t,a_j)}{\hat n(s_t,a)}} \right\}", ("vv-count",)),
    _equation(20, "initial W of vv-ucb, step 1: the value of the untried action ā", "3.3",
              r"W(s,\bar a) = \sqrt{2 \log(|A|-1)} + \gamma_w \max_a W(s',a)", ("vv-ucb",), _BOUND),
    _equation(21, "initial W of vv-ucb, step 2: an upper bound under uniform counts", "3.3",
              r"n(s,a) = \bar n(s) \Rightarrow W(s,\bar a) \geq W(s,a)", ("vv-ucb",), _BOUND),
    _equation(22, "initial W of vv-ucb, step 3: the bound in its own target", "3.3",
              r"W(s,\bar a) = \sqrt{2 \log(|A|-1)} + \gamma_w W(s,\bar a)", ("vv-ucb",), _BOUND),
    _equation(23, "initial W of vv-ucb, step 4: the condition for choosing ā", "3.3",
              r"Q_{min} + \kappa(1-\gamma_w) W(s,\bar a) > Q_{max} + \kappa(1-\gamma_w)"
              r"\left(\sqrt{2 \log(|A|-1)} + \gamma_w W(s,\bar a)\right)", ("vv-ucb",), _BOUND),
    _equation(24, "initial W of vv-ucb", "3.3",
              r"W(s,\bar a) > \frac{Q_{max}-Q_{min}}{\kappa(1-\gamma_w)^2} + \frac{\sqrt{2 \log(|A|-1)}}{1-\gamma_w}",
              ("vv-ucb",), _BOUND, "explorers.visitation.VvUcb.configure"),
    _equation(25, "untried actions of vv-count: the condition for choosing ā", "3.3",
              r"U_W(s,\bar a) > \frac{Q_{max}-Q_{min}}{\kappa} + U_W(s,a)", ("vv-count",), _BOUND_N),
    _equation(26, "untried actions of vv-count: uniform counts do not give uniform pseudocounts", "3.3",
              r"n(s,a) = \bar n(s) \nRightarrow W(s,\bar a) \geq W(s,a)", ("vv-count",), _BOUND_N),
    _equation(27, "exploration term of untried actions in vv-count", "3.3",
              r"U_W(s,\bar a) > \frac{Q_{max}-Q_{min}}{\kappa} + \sqrt{\frac{2 \log((1-\gamma_w)+|A|-2)}{1-\gamma_w}}",
              ("vv-count",), _BOUND_N, "explorers.visitation.VvCount.configure"),
    _equation(28, "Q-function that learns from an augmented reward", "3.4",
              r"Q^+(s_t,a_t) = r_t + \alpha r_t^W + \gamma \max_a Q^+(s_{t+1},a)", ("bonus",),
              "explorers.counts.Bonus.extra_tables", "learning.td.td_target"),
    _equation(29, "Q plus W, with separate maxima", "3.4",
              r"Q^\pi(s_t,a_t) + \alpha W(s_t,a_t) = r_t + \gamma \max_a Q^\pi(s_{t+1},a) + \alpha r_t^W"
              r"+ \alpha \gamma_w \max_a W(s_{t+1},a)", ("vv-ucb",),
              "explorers.visitation.VvUcb.score", "learning.td.td_target"),
    _equation(30, "mean squared value error", "4.2.4",
              r"MSVE = \frac{1}{N} \sum_{i=1}^{N} \left(V^*(s_i) - V^{\pi_t}(s_i)\right)^2",
              ("vv-ucb", "vv-count", "ucb1", "bonus", "thompson", "epsilon-greedy"),
              "experiments.world_run.value_measures", command="wanderlust reproduce chain"),
    _equation(31, "random policy", "A.1", r"\beta(s_t) \sim unif\{A\}", ("random",),
              "explorers.dithering.Random.choose"),
    _equation(32, "ε-greedy policy", "A.1",
              r"\beta(s_t) = \arg\max_a Q^\beta(s_t,a) \text{ with probability } 1-\epsilon, \text{ else } \sim"
              r" unif\{A\}", ("epsilon-greedy",), "explorers.dithering.choose_epsilon_greedy"),
    _equation(33, "UCB1 policy", "A.1",
              r"\beta(s_t) = \arg\max_a \left\{ Q^\beta(s_t,a) + \kappa"
              r"\sqrt{\frac{2 \log \sum_{a_j} n(s_t,a_j)}{n(s_t,a)}} \right\}", ("ucb1",)),
    _equation(34, "TD error with a prior", "A.4",
              r"\delta_{reg}(s,a,s') = \delta(s,a,s') + \nu \left(Q^p(s,a) - Q(s,a)\right)", ("random-prior",),
              "learning.td.regularised_td_update"),
)


def _algorithm(number: int, title: str, section: str, explorers: tuple[str, ...], *functions: str) -> Item:
    return Item("Algorithm", number, title, section, _train(explorers[0]), (), explorers, functions)


_LOOP = ("agents.loop.run_until", "learning.update.learn_by_sweeps")

ALGORITHMS = (
    _algorithm(1, "tabular Q-learning with replay memory", "A.1", ("epsilon-greedy", "random", "ucb1"), *_LOOP,
               "learning.sweep.sweep"),
    _algorithm(2, "Q-learning with augmented reward", "A.2", ("bonus",), *_LOOP, "explorers.counts.Bonus"),
    _algorithm(3, "Q-learning with visitation value (UCB)", "A.3", ("vv-ucb",), *_LOOP, *_W_TARGET[:1]),
    _algorithm(4, "Q-learning with visitation value (count)", "A.3", ("vv-count",), *_LOOP, *_W_TARGET[:1]),
    _algorithm(5, "bootstrapped Q-learning", "A.4", ENSEMBLES, "agents.loop.run_until",
               "learning.update.learn_with_heads", "learning.replay.replay_heads"),
    Item("Algorithm", 6, "classic Q-learning, without memory", "A.5", "wanderlust reproduce memory", (),
         (*VV, "epsilon-greedy"), ("learning.update.update_from_transition", "agents.loop.run_until")),
)
