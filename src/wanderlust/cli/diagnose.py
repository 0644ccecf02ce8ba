"""What the command `diagnose` does: let several explorers try, and say in words what they met."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from wanderlust.cli import runs as of_explorers
from wanderlust.cli.compare import in_steps
from wanderlust.cli.diagnosis import Diagnosis, diagnosed
from wanderlust.cli.environment import Environment
from wanderlust.cli.files import check_writable, write_json
from wanderlust.core.errors import WanderlustError

MAX_REWARDS_SHOWN = 8
GROWING = 2.0
"""Percent of the states that must be met in the last quarter for their number to be still growing."""
DENSE = 20.0
"""Percent of the steps that are paid something unusual from which on rewards are not sparse."""
_DISCOUNT = 0.99
_MORE_STEPS = 5


@dataclass(frozen=True)
class Question:
    """What was asked for."""

    environment: Environment
    explorers: tuple[str, ...]
    seeds: int
    steps: int
    changes: tuple[str, ...] = ()


def diagnose(asked: Question, folder: Path, *, jobs: int | None, json: Path | None, quiet: bool) -> int:
    """Make the runs that are missing and print the report; return 1 if a run failed, else 0."""
    if json is not None:
        check_writable(json)
    env = asked.environment.make()
    runs = of_explorers.planned(
        asked.environment,
        env,
        asked.explorers,
        seeds=asked.seeds,
        steps=asked.steps,
        changes=asked.changes,
        # Only the policies that they end with are looked at.
        evaluate_every=asked.steps,
    )
    horizon, n_actions = env.horizon, env.n_actions
    env.close()
    results, failed = of_explorers.made(runs, folder, jobs=jobs, quiet=quiet)
    if not any(results.values()):
        raise WanderlustError("no run came to its end, so there is nothing to say; see the errors above.")
    found = diagnosed(results, steps=asked.steps, horizon=horizon)
    suggested = suggestion(found, asked)
    console = of_explorers.console()
    console.print(f"{asked.environment.typed}: {n_actions} actions, {asked.seeds} seeds of each explorer", markup=False)
    console.print(_table(found))
    for heading, sentences in paragraphs(found):
        _print_paragraph(console, heading, sentences)
    _print_paragraph(console, "Try", [suggested])
    if json is not None:
        write_json(json, as_plain(found, asked, suggested))
        console.print(f"written to {json}", markup=False, soft_wrap=True)
    return int(failed > 0)


def _print_paragraph(console: Console, heading: str, sentences: list[str]) -> None:
    console.print(f"\n{heading}", style="bold")
    for sentence in sentences:
        console.print(f"  {sentence}", markup=False, soft_wrap=True)


def _table(found: Diagnosis) -> Table:
    table = Table()
    heads = ("explorer", "states", "of them late (%)", "first reward", "first end", "greedy return", "best episode")
    for head in heads:
        table.add_column(head, justify="left" if head == "explorer" else "right")
    for each in found.ranked:
        table.add_row(
            each.explorer,
            f"{each.states:,.0f}",
            f"{each.late_states:.0f}",
            in_steps(each.first_reward, found.steps),
            in_steps(each.first_end, found.steps),
            f"{each.greedy_return:.4g}",
            f"{each.best_episode:.4g}" if math.isfinite(each.best_episode) else "–",
        )
    return table


def paragraphs(found: Diagnosis) -> Iterator[tuple[str, list[str]]]:
    """Yield the report: headings, and what is to be said under each."""
    yield "Rewards", list(_on_rewards(found))
    yield "States", list(_on_states(found))
    yield "Distractors", list(_on_distractors(found))
    yield "Chance", [_on_chance(found)]
    yield "Episodes", list(_on_episodes(found))


def _on_rewards(found: Diagnosis) -> Iterator[str]:
    if len(found.rewards) == 1:
        yield f"Every step was paid {found.rewards[0].value:g}, whatever was done: no explorer found anything else."
    elif found.usual_reward is not None:
        sparse = "sparse" if found.unusual_share < DENSE else "not sparse"
        share, usual = f"{found.unusual_share:.3g} %", f"{found.usual_reward:g}"
        yield f"Rewards are {sparse}: {share} of all steps were paid something else than {usual}."
    else:
        yield "Rewards are not sparse: there are so many different ones that hardly two steps are paid alike."
    for each in found.rewards[:MAX_REWARDS_SHOWN]:
        value = "others" if each.value is None else f"{each.value:g}"
        yield (
            f"{value}: {each.times:,} times, first at step {each.first_step:,} by {each.place}; "
            f"paid to {', '.join(each.by)}"
        )
    if len(found.rewards) > MAX_REWARDS_SHOWN:
        yield f"... and {len(found.rewards) - MAX_REWARDS_SHOWN} smaller ones."
    if found.ends_are_goals:
        yield "Every step costs something, and ending an episode is the way out: the sooner, the better."
    elif not found.found:
        yield "Nothing above 0 was found."


def _on_states(found: Diagnosis) -> Iterator[str]:
    most = found.widest
    least = min(found.explorers, key=lambda each: each.states)
    if most.states == least.states:
        yield f"All explorers acted in {most.states:,.0f} states."
    else:
        yield f"{most.explorer} acted in {most.states:,.0f} states, {least.explorer} in {least.states:,.0f}."
    if is_growing(found):
        yield (
            f"Their number still grows: {most.late_states:.0f} % of what {most.explorer} met came in the last quarter "
            "of its run. There is more to find; take more steps."
        )
    else:
        yield "Their number has stopped growing: more steps will find few others."


def _on_distractors(found: Diagnosis) -> Iterator[str]:
    best = found.ranked[0]
    if not found.found:
        yield "Nothing above 0 was found, so none can be told."
    elif not found.settlers:
        yield "None was seen: no explorer settled for a smaller reward where another found more."
    for each in found.settlers:
        yield (
            f"{each.explorer} settles for a return of {each.greedy_return:.4g}, although {best.explorer} found a "
            f"policy worth {best.greedy_return:.4g}: the smaller reward distracts it."
        )
    missed = [each.explorer for each in found.explorers if each.explorer not in found.finders]
    if found.found and missed:
        yield f"Never paid anything above 0: {', '.join(missed)}."
    if found.best_return is not None and found.best_return > found.best_policy + 1e-9 and not found.varied_pairs:
        yield (
            f"Some episode returned {found.best_return:.4g}, but no policy learnt to repeat it: more steps, or a "
            "larger discount, may help."
        )


def _on_chance(found: Diagnosis) -> str:
    if not found.varied_pairs:
        return "Deterministic, as far as was seen: whatever was tried again came out the same again."
    return (
        f"{found.stochastic_share:.0f} % of the actions that were tried again in the same state came out differently: "
        "the environment is stochastic, or its states are not told finely enough."
    )


def _on_episodes(found: Diagnosis) -> Iterator[str]:
    total = found.terminated + found.truncated
    if not total:
        yield f"No episode came to an end within {found.steps:,} steps."
        return
    yield f"{found.terminated:,} of {total:,} ended by themselves, {found.truncated:,} were cut off."
    limit = "no limit is known" if found.horizon is None else f"the limit is {found.horizon:,} steps"
    yield f"The longest took {found.longest_episode:,} steps; {limit}."
    if found.found and found.depth is not None:
        yield f"The best return, {found.best_return:.4g}, took {found.depth:,} steps at least."


def is_growing(found: Diagnosis) -> bool:
    """Tell whether the explorer that met most states still met new ones in the end."""
    return found.widest.late_states >= GROWING


def suggestion(found: Diagnosis, asked: Question) -> str:
    """Return what to do next: a command to paste, or, where nothing was found, what that may mean."""
    steps = found.steps * (_MORE_STEPS if is_growing(found) else 1)
    if found.found or found.ends_are_goals:
        return _command(asked, found.ranked[0].explorer, steps, _settings(found))
    most = found.widest
    if is_growing(found):
        return f"Nothing was found yet, but there is more to see: {_command(asked, most.explorer, steps, {})}"
    return (
        f"Nothing was found, and nearly all of {most.states:,.0f} states were met early on: either there is no "
        "reward to be had, or what tells the states hides the way to it (see --key, --bins), or episodes are too short."
    )


def _settings(found: Diagnosis) -> dict[str, Any]:
    """Return settings that differ from the usual: a discount that looks as far as the reward is, and their range."""
    settings: dict[str, Any] = {}
    if found.depth is not None and found.found and found.depth > 1 / (1 - _DISCOUNT):
        settings["discount"] = round(1 - 1 / (2 * found.depth), 6)
    values = [each.value for each in found.rewards if each.value is not None]
    if found.found and len(values) == len(found.rewards):
        settings["reward_range"] = f"[{min(values):g},{max(values):g}]"
    return settings


def _command(asked: Question, explorer: str, steps: int, settings: dict[str, Any]) -> str:
    words = ["wanderlust", "train", asked.environment.typed, "--explorer", shlex.quote(explorer), "--steps", str(steps)]
    changes = [*asked.changes, *(f"{name}={value}" for name, value in settings.items())]
    if changes:
        words += ["--set", *map(shlex.quote, changes)]
    return " ".join([*words, "--save", "agent.npz"])


def as_plain(found: Diagnosis, asked: Question, suggested: str) -> dict[str, Any]:
    """Return all numbers as JSON has them; what never happened is null."""
    plain = dataclasses.asdict(found)
    plain["explorers"] = [
        {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in each.items()}
        for each in plain["explorers"]
    ]
    return {
        "environment": asked.environment.typed,
        "seeds": asked.seeds,
        **plain,
        "still_growing": is_growing(found),
        "settle_for_less": [each.explorer for each in found.settlers],
        "report": dict(paragraphs(found)),
        "suggestion": suggested,
    }
