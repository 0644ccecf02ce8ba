"""The likeliest reason of every difference to the paper, and how it was tested; “unknown” is a reason."""

from __future__ import annotations

from collections.abc import Mapping

from wanderlust_paper.claims import NOT_TESTABLE, Claim
from wanderlust_paper.reports.recap_tables import Cell

UNKNOWN = ("unknown", "not tested")

# --- Cells -----------------------------------------------------------------------------------------------

_STEPS = (
    "the paper's runs had 100,000 steps",
    "the same cell with 100,000 steps, under The steps of the deep sea; what explorers without learning discover "
    "depends "
    "on the steps alone",
)
_SAMPLING = ("sampling: 20 seeds", "fresh seeds, in the column before")
_RANDOM_IN_TAXI = (
    "the paper's row may repeat that of the short horizon: it has the same two ± and almost the same success",
    "our row for the short horizon agrees with the paper's",
)
_WALL = (
    "the paper's runs of this explorer had 200,000 steps",
    "200,000 steps agree; epsilon-greedy and bonus agree with 100,000 and not with 200,000",
)
_CELLS: Mapping[Cell, tuple[str, str]] = {
    Cell("deep-sea", "zero", "fixed", "bootstrapped"): (
        "sampling: 2 of 5 seeds fail",
        "200 seeds with 100,000 steps, of which 190 learn: deep-sea-ensembles",
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
        "have ± "
        "3.12; a seed between them, which reaches the large treasure with detours, could explain it",
    ),
    Cell("toy", "zero", "long", "ucb1"): (
        "unknown: all our seeds end at 100",
        "the text's κ ends at 100, too. The paper's number would result if ten of 20 seeds took one step too many "
        "and ten "
        "took two, which no run of ours does",
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
    return _STEPS if cell.environment == "deep-sea" else _SAMPLING


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
        "“right” are "
        "too small at one cell",
        "200 seeds of each, under Reasons of differences, tested",
    ),
    "deep sea, zero init.: both vv": ("lines of Figure 8", "“twice” is near the ratio of the medians", "the margin"),
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
    "only the proposed method uniformly": (
        _FEW_SEEDS,
        "the paper's seed: in the deep sea about half of the seeds of the bootstraps visit all states",
        "20 seeds of each",
    ),
    "vv explores the environment as uniformly": (
        _FEW_SEEDS,
        "unknown; it holds against every other explorer except the bonus in the deep sea",
        "not tested",
    ),
    "the count-based W-function performed": (
        "a footnote",
        "unknown; the difference is in the deep sea alone",
        "not tested",
    ),
    "the count of vv uniformly decreases": (
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
        "“barely” is our 10 %: the small gridworlds are mostly discovered before the ensemble converges",
        "not tested",
    ),
    "bootstrapping attains": (
        "a line in Figure 22",
        "unknown; the fit here has only the depths at which all seeds learnt",
        "not tested",
    ),
    "Figure 22": (
        "error bars",
        "“close to zero” is read as a hundredth of the bootstraps' ± in percent of the mean",
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
    "Figure 25: the other algorithms": (
        "lines of Figure 25",
        "the limit of 200,000 steps: explorers that never become ε-optimal have it for every ε",
        "the share of runs that end ε-optimal",
    ),
    "the sample complexity of the others has": (
        "error bars",
        "runs at the limit of 200,000 steps do not vary; a few seeds of vv-count that lose the optimal policy vary "
        "much",
        "the share of runs that end ε-optimal",
    ),
    "Figure 26: only vv": (
        "lines near 0",
        "a few seeds of vv-count lose the optimal policy again, of which the mean is made",
        "the number of these seeds, below our figure",
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
    "stochastic gridworlds: the smaller": ("no numbers", "unknown", "not tested"),
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
