"""The likeliest reason of every difference to the paper, and how it was tested; “unknown” is a reason."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust_paper.claims import NOT_TESTABLE, Claim
from wanderlust_paper.reports.recap_tables import Cell

UNKNOWN = ("unknown", "not tested")

# --- Cells -----------------------------------------------------------------------------------------------

_STEPS = (
    "the paper's runs had 100,000 steps",
    "the same cell with 100,000 steps agrees, under The steps of the deep sea",
)
_STEPS_OF_RANDOM = (_STEPS[0], f"{_STEPS[1]}; what random discovers depends on the steps alone")
_SAMPLING = ("sampling: 20 seeds", "fresh seeds, in the column before")
_RANDOM_IN_TAXI = (
    "unknown: the paper's success and both ± are almost those of its row for the short horizon, but not its discovery",
    "not tested",
)
_WALL = (
    "the paper's runs of this explorer had 200,000 steps",
    "200,000 steps agree; the other explorers of this table were not run with 200,000",
)
_CELLS: Mapping[Cell, tuple[str, str]] = {
    Cell("deep-sea", "zero", "fixed", "bootstrapped"): (
        "unknown: 2 of 5 seeds fail; if 5 % fail, as with 100,000 steps, this has a probability of 2 %",
        "not with 500,000 steps; 190 of 200 seeds learn with 100,000: deep-sea-ensembles",
    ),
    Cell("deep-sea", "optimistic", "fixed", "ucb1"): (
        "the paper's runs had κ of the text and 100,000 steps",
        "the same cell with both agrees; with κ of the released code every seed learns",
    ),
    Cell("taxi", "optimistic", "long", "thompson"): (
        "discovery in percent of the 33 × 8 = 264 open states, 12 of which cannot be reached",
        "252/264 = 95.45 %, the paper's number, without variation in both samples",
    ),
    Cell("taxi", "optimistic", "long", "ucb1"): (
        "unknown: the paper's discovery is smaller with the long horizon than with the short one",
        "not the 264 open states, not the text's κ: neither gives 98.74 %",
    ),
    Cell("taxi", "zero", "long", "random"): _RANDOM_IN_TAXI,
    Cell("taxi", "optimistic", "long", "random"): _RANDOM_IN_TAXI,
    Cell("deep-gridworld", "zero", "long", "ucb1"): (
        "unknown: ours is similar with both horizons and agrees with the paper for the short one",
        "the text's κ differs, too. If every seed ended at 100 or at no more than 56.88, a mean of 56.40 could not "
        "have ± 3.12; a seed between them, which reaches the large treasure with detours, could explain it",
    ),
    Cell("toy", "zero", "long", "ucb1"): (
        "unknown: all our seeds end at 100",
        "the text's κ ends at 100, too. The paper's number would result if ten of 20 seeds took one step too many and "
        "ten took two, which no run of ours does",
    ),
    Cell("wall", "zero", "short", "random"): _WALL,
    Cell("wall", "zero", "long", "random"): _WALL,
    Cell("wall", "optimistic", "short", "random"): _WALL,
    Cell("wall", "optimistic", "long", "random"): _WALL,
}


def reason_of_cell(cell: Cell) -> tuple[str, str]:
    """Return the likeliest reason why a cell differs, and how it was tested."""
    if cell in _CELLS:
        return _CELLS[cell]
    if cell.environment == "deep-sea":
        return _STEPS_OF_RANDOM if cell.algorithm == "random" else _STEPS
    return _SAMPLING


# --- Claims ----------------------------------------------------------------------------------------------

_FEW_SEEDS = "a figure with one seed"
_CLAIMS: Mapping[str, tuple[str, str, str]] = {
    "Figure 1:": (
        "4^N",
        "the paper counts an attempt as N actions “right”; an attempt that moves left and returns finds it, too",
        "exactly, by the linear system of the random walk",
    ),
    "UCB1: only when": (
        "the sentence",
        "it neglects Q, which is small beside the bounds, and not zero",
        "exactly: with equal counts the action with the largest Q is the only best one",
    ),
    "in (1,2) and (2,3) it chooses “left”": (
        "“left” in Figure 3",
        "in (1,2) “left” and “right” are equal: both collect the bonus for ever",
        "exactly, at the fixed point of the values",
    ),
    "in the prison both": ("one more time", "a miscount: the four episodes execute “right” three times", "exactly"),
    "replacing U": ("Eq. 27", "the equation leaves out the +1 that its sentence adds", "both forms, 55 worst cases"),
    "the only difference is": (
        "the sentence",
        "it neglects the order of the actions that are not the best: in (1,3) vv-ucb prefers “right” to “left” and "
        "“up”, vv-count does not",
        "exactly",
    ),
    "the policies of both W-functions bring": (
        "from any state",
        "from the prison, and with terminal treasures from the row of the treasures, no policy can reach (1,3)",
        "exactly",
    ),
    "with uniform counts for all pairs": (
        "Figure 6, Greedy",
        "the bonus of 0.1 per step for ever, 10 in total, is worth more than the treasure of 2",
        "exactly; with non-terminal treasures it holds",
    ),
    "a random policy reaches": (
        "(1/2)^N",
        "N decisions are counted, of which the last one does not matter here",
        "exactly, for N = 5, 10 and 20",
    ),
    "the optimal policy selects always": (
        "the sentence",
        "the last cell is neglected",
        "exactly, by dynamic programming",
    ),
    "prison: the optimal policy navigates": (
        "the sentence",
        "the picture of the paper is turned, as that of the wall is",
        "exactly: every optimal path",
    ),
    "in the gridworlds the agent gets": (
        "the sentence",
        "the released code has no penalty in toy; the tables agree with the code",
        "the optimal return of the tables",
    ),
    "the row “Optimal”": (
        "135 in wall",
        "unknown; the map of the released code needs 124",
        "exactly, by dynamic programming",
    ),
    "deep sea, zero init.: only vv and": (
        "100 ± 0 success, 99.90 and 99.77 % discovery",
        "the sentence says all states; the paper's own table does not. Failed seeds: all ten initial values of "
        "“right” are too small at one cell",
        "200 seeds of each, under Reasons of differences, tested",
    ),
    "deep sea, zero init.: both vv": ("lines of Figure 8", "“twice” is near the ratio of the medians", "the margin"),
    "deep sea, opt. init.: results": (
        "lines of Figure 8",
        "unknown; with optimistic initialization vv-count is the slowest of the six explorers that learn",
        "not tested",
    ),
    "taxi, opt. init.: most": (
        "lines of Figure 10",
        "all but random end at 100 %; ε-greedy and the bonus, which the paper calls slow, are far below vv until then",
        "the final success of every run",
    ),
    "Figure 17": (
        "lines of Figure 17",
        "Thompson sampling with the short horizon finds nothing in most runs of toy, but a distractor in the prison",
        "the success of every run",
    ),
    "wall, zero init.: every other": (
        "65.28 and 70.51 % discovery in its Table 8",
        "the sentence is true of the final policies, not of the exploration, in the paper's own table, too",
        "the discovered states of every run",
    ),
    "taxi: the performance of vv is not": (
        "lines of Figure 10",
        "vv learns earlier with the long horizon; the final success is 100 % with both",
        "200 seeds of each",
    ),
    "taxi, zero init.: the bootstrap with a random prior does": (
        "750 to 1,000 in Figure 10",
        "unknown; the sentence may describe where most states are found, ours measures the last one",
        "not tested",
    ),
    "taxi, zero init.: other algorithms": (
        "lines of Figure 10",
        "many runs of UCB1, ε-greedy and random pick no passenger; the paper's means, 1.5 to 2 %, need such runs, too",
        "the final return of every run",
    ),
    "deep gridworld, zero init.: all algorithms except": (
        "70 ± 9 for the bonus",
        "the sentence may be about most runs: the paper's own table has means that need seeds with the large treasure",
        "200 seeds of each",
    ),
    "toy, zero init.: a long horizon": (
        "40 → 70 % in its Table 6",
        "the sentence contradicts the paper's own table, with which ours agrees",
        "200 seeds of each",
    ),
    "prison, zero init.: the other algorithms": (
        "47 ± 12 for the bonus",
        "the sentence may be about most runs: the paper's own table has means that need seeds with the highest reward",
        "200 seeds of each",
    ),
    "optimistic initialization guarantees": (
        "the sentence",
        "a guarantee in the limit; the steps of the experiments are too few in some worlds",
        "the executed pairs of every run; in the deep sea more steps execute more pairs",
    ),
    "the higher γ_w, the more uniform": (
        "Figure 21, vv-count",
        "vv-ucb with γ_w = 0.99999 follows Q: κ(1 − γ_w) times the differences of W are smaller than those of Q",
        "a larger κ, under Reasons of differences, tested",
    ),
    "with γ_w = 0": (
        "lines of Figure 20",
        "sampling: of 20 seeds each finds the treasure or not, and seeds 1 to 20 of UCB1 are lucky",
        "180 fresh seeds",
    ),
    "with smaller γ_w": (
        _FEW_SEEDS,
        "the paper shows the counts of one seed; 60 % of ours discover all states of this small world",
        "fresh seeds",
    ),
    "Figure 21": (
        _FEW_SEEDS,
        "the difference is at γ_w = 0.99999 alone; see the reason of the row on uniform exploration",
        "a larger κ, under Reasons of differences, tested",
    ),
    "as a rule of thumb": (
        "Figure 20",
        "γ_w = 0.8 and 0.9 are below γ = 0.99 and, within the spread of 20 seeds, as good",
        "fresh seeds",
    ),
    "only the proposed method": (
        _FEW_SEEDS,
        "the paper's seed: 25 of 40 runs of the bootstraps in the deep sea and 5 of 20 of the bonus in the deep "
        "gridworld visit all states",
        "20 seeds of each",
    ),
    "vv-ucb explores the environment as uniformly": (
        _FEW_SEEDS,
        "unknown; it holds against every other explorer except the bonus in the deep sea",
        "not tested",
    ),
    "the count-based W-function performed": (
        "a footnote",
        "unknown; the difference is in the deep sea alone",
        "not tested",
    ),
    "the count of vv-ucb uniformly decreases": (
        _FEW_SEEDS,
        "unknown; counts decrease with the distance in every world, but not as strictly as our rule asks",
        "not tested",
    ),
    "UCB1 explores very slowly": (_FEW_SEEDS, "unknown", "not tested"),
    "Figure 19: other algorithms": (
        _FEW_SEEDS,
        "unknown; the exception is the bonus in the deep gridworld",
        "not tested",
    ),
    "bootstrapping with a prior immediately": (
        _FEW_SEEDS,
        "“barely” is our 10 %: in the two small gridworlds most states are discovered after the first reward",
        "20 seeds of each",
    ),
    "bootstrapping attains": (
        "a line in Figure 22",
        "unknown; the fit here has only the depths at which all seeds learnt",
        "not tested",
    ),
    "only vv scales gracefully": (
        "lines of Figure 22",
        "the intervals of the exponents of vv-count and of the bootstrap with a random prior overlap",
        "10 seeds at 28 depths",
    ),
    "Figure 22": (
        "error bars",
        "“close to zero” has no number in the paper; we read it as a hundredth of the bootstraps' ± in percent of the "
        "mean, and those of vv are about as large as theirs",
        "not tested",
    ),
    "random, ε-greedy, UCB1 and Thompson": (
        "not shown",
        "“small N” is not given; at N = 11 most runs learn, at N = 25 almost none",
        "N = 11, 17 and 25, 10 seeds of each",
    ),
    "in all three cases the sample complexity of vv": (
        "lines of Figure 25",
        "unknown; the interval of vv-count extends below 2.25, so it may grow slower than the paper says",
        "not tested",
    ),
    "in all three cases the other algorithms": (
        "lines of Figure 25",
        "the sentence neglects UCB1 with the largest ε: it is ε-optimal where it stays",
        "not tested",
    ),
    "Figure 25: the sample complexity of vv": (
        "lines of Figure 25",
        "“slightly” is our factor of 1.25; the largest is below 1.5",
        "all 28 lengths",
    ),
    "Figure 25: the lines of the two vv": (
        "lines of Figure 25",
        "unknown; vv-count needs several times the steps of vv-ucb at small N, which a logarithmic axis makes small",
        "not tested",
    ),
    "Figure 26: with ε = 0": (
        "lines of Figure 26",
        "the paper's own limit of 200,000 steps: vv needs so many that no run can need 100 times as many",
        "the limit divided by the steps of vv",
    ),
    "Figure 25: the other algorithms": (
        "lines of Figure 25",
        "the limit of 200,000 steps: explorers that never become ε-optimal have it for every ε",
        "the share of runs that end ε-optimal",
    ),
    "the sample complexity of the others has": (
        "error bars",
        "runs at the limit of 200,000 steps do not vary; a few runs of vv-count that do not end ε-optimal vary much",
        "the share of runs that end ε-optimal",
    ),
    "Figure 26: only vv": (
        "lines near 0",
        "unknown; with N = 55 most seeds of vv-count do not reach 0 within 200,000 steps",
        "the error of every seed; more steps were not run",
    ),
    "ε-greedy is soon stuck": (_FEW_SEEDS, "the paper's seed; 11 of 50 seeds find the last state", "50 seeds"),
    "UCB1 finds the reward around": (
        _FEW_SEEDS,
        "the paper's seed: ours find it between step 318 and 1,118",
        "50 seeds",
    ),
    "once the reward is found": (
        _FEW_SEEDS,
        "Thompson sampling does not act greedily: it samples among ten tables at every step",
        "not tested",
    ),
    "chain: γ_w = 0.999": ("no numbers", "unknown", "not tested"),
    "vv-count almost always": ("2, 0 and 1 of 50", "sampling", "fresh seeds"),
    "vv-ucb always learns": ("150 of 150", "sampling", "fresh seeds"),
    "the vanilla bootstrap": (
        "lines of Figure 27",
        "“cannot” is read as never: 60 % of the runs learn in toy, where all do without noise; in the other two worlds "
        "noise does not hurt it",
        "fresh seeds",
    ),
    "UCB1 and the bonus benefit": (
        "50 ± 22 and 100 ± 0 in its Table 1",
        "the paper's own table has the bonus solving toy without noise, and UCB1 in half of the seeds",
        "the runs of the tables",
    ),
    "this improvement of UCB1": (
        "lines of Figure 27",
        "in toy both discover nearly all states without noise",
        "the runs of the tables",
    ),
    "stochastic gridworlds: the smaller": (
        "no numbers",
        "the typical run is the same with both; with 0.99 more seeds fail in every world, and these lower its means: "
        "by the number of seeds that learn the paper is right",
        "the seeds that learn, in the column “here”",
    ),
    "toy: without replay memory": (
        "1,000, 250, ×4",
        "the numbers are read from a figure; ours are medians over 20 seeds",
        "fresh seeds",
    ),
    "vv can learn even without": (
        "lines of Figure 28",
        "ε-greedy without memory finds the treasure of toy in some seeds",
        "fresh seeds",
    ),
    "toy: infinite memory allowed": (
        "lines of Figure 28",
        "the bootstrap learns almost as fast with the finite memory, as the paper says two sentences later",
        "fresh seeds",
    ),
    "toy: the performance of the bootstrap": (
        "lines of Figure 28",
        "the released code updates the target table from overwritten slots once the memory is full; the library does "
        "not",
        "not tested: the library has no option for it",
    ),
    "prison: the infinite memory": ("lines of Figure 28", "unknown", "fresh seeds"),
    "toy: the use of infinite memory": (
        "lines of Figure 28",
        "the gain of the bootstrap is small beside the spread of 20 seeds",
        "fresh seeds",
    ),
    "vv benefits the most": (
        "the sentence",
        "ε-greedy gains more in toy: without memory it rarely propagates the reward",
        "not tested",
    ),
    "ν = 0.1 worked best": ("no numbers", "unknown; ν = 1 is better in toy", "not tested"),
    "the speed-up of vv": ("×4 and ×8", "unknown", "fresh seeds"),
}
"""The beginning of a claim -> the paper's number or figure, the likeliest reason, how it was tested."""


def reason_of(claim: Claim) -> tuple[str, str, str]:
    """Return what the paper has, the likeliest reason why a claim is not reproduced, and how it was tested."""
    if claim.verdict == NOT_TESTABLE:
        return "–", "these runs cannot decide it", "not tested"
    for start, texts in _CLAIMS.items():
        if claim.claim.startswith(start):
            return texts
    return ("–", *UNKNOWN)
