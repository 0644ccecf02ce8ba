"""The command `diagnose`."""

from __future__ import annotations

import dataclasses
import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from wanderlust.cli import HELP_ONLY
from wanderlust.cli.options import (
    DEFAULT_EXPLORERS,
    LOCAL,
    EnvironmentArgument,
    EnvironmentOptions,
    ExecutionArgument,
    Explorers,
    RunsOptions,
    Seeds,
)

if TYPE_CHECKING or not HELP_ONLY:
    from rich.console import Console
    from rich.table import Table

    from wanderlust.cli.printing import new_console, new_table, print_table
    from wanderlust.cli.runs import execute_runs, plan_runs, version_note
    from wanderlust.core.errors import WanderlustError, counted
    from wanderlust.core.files import check_writable, finite_values, write_json
    from wanderlust.environments.bins_advice import bins_sentences
    from wanderlust.environments.tabular import Tabular
    from wanderlust.experiments.comparison import ExplorerSummary, format_steps, time_penalty_sentence
    from wanderlust.experiments.diagnosis import (
        Diagnosis,
        diagnose_results,
        estimated_hardness,
        model_hardness,
    )
    from wanderlust.experiments.report.text_tables import printable

_DEFAULT_DISCOUNT = 0.99
_EPISODES = 10
_MORE_STEPS = 5
_MORE_SEEDS = 20
_MAX_REWARDS_SHOWN = 8
_DENSE_PERCENT = 20.0
"""Rewards are sparse if fewer steps than this percentage give another reward than the most frequent one."""
_TABLE_NOTE = (
    "Medians over seeds. Greedy return: of the final greedy policy, with the range over seeds. Best training return: "
    "of any episode while exploring. >N: not within N steps."
)


@dataclass(frozen=True)
class DiagnoseOptions(RunsOptions):
    """The options of `diagnose`, except those of the environment."""

    explorers: Explorers = ("random", *DEFAULT_EXPLORERS)
    seeds: Seeds = 5
    out: Annotated[
        Path | None, arg(metavar="FOLDER", help="Folder for the runs; results/diagnose-ENVIRONMENT if not given.")
    ] = None
    json: Annotated[Path | None, arg(metavar="FILE", help="Also write all measurements as JSON.")] = None


def diagnose(
    options: Annotated[DiagnoseOptions, arg(name="")],
    environment: EnvironmentArgument,
    execution: ExecutionArgument = LOCAL,
) -> None:
    """Measure how hard an environment is to explore: reward sparsity, depth, distractors and stochasticity.

    Trains several explorers for the same number of steps, prints a report, and suggests a `wanderlust train` command.

    Example: wanderlust diagnose my_package:make_env --steps 50000

    Example: wanderlust diagnose prison --steps 1000 --json prison.json
    """
    if options.json is not None:
        check_writable(options.json)
    env = environment.make()
    # The report needs only the final evaluation.
    runs = plan_runs(environment, env, options, episodes=_EPISODES, evaluate_every=options.steps)
    horizon, n_actions, hardness = env.horizon, env.n_actions, model_hardness(env)
    bins = _bins_sentences(env)
    env.close()
    folder = options.out or Path("results") / f"diagnose-{environment.file_name}"
    results, failures = execute_runs(runs, folder, execution)
    if not any(results.values()):
        raise WanderlustError("all runs failed, so there is no report; see the errors above.")
    diagnosis = diagnose_results(results, steps=options.steps, horizon=horizon)
    hardness = hardness or estimated_hardness(results, n_actions=n_actions, horizon=horizon)
    suggestion = _suggestion(diagnosis, environment, options)
    console = new_console(120, highlight=False)
    preset = runs[0].preset
    counts = f"{counted(n_actions, 'action')}, {counted(options.seeds, 'seed')} per explorer"
    title = f"{environment.command_line}: {counts}, preset {preset}"
    console.print(printable(title), soft_wrap=True)
    print_table(_explorer_table(diagnosis), console)
    for note in filter(None, [_TABLE_NOTE, version_note(runs[0])]):
        console.print(printable(note), soft_wrap=True)
    sections = [*report_sections(diagnosis), *([("Bins", bins)] if bins else [])]
    for heading, sentences in sections:
        _print_section(console, heading, sentences)
    _print_section(console, "Hardness", hardness.sentences)
    _print_section(console, "Suggestion", [suggestion, *_uncertainty(diagnosis, environment, options)])
    if options.json is not None:
        document = {"environment": environment.command_line, "seeds": options.seeds, "preset": preset}
        document |= _json_values(diagnosis)
        write_json(options.json, {**document, "hardness": hardness.json_values, "suggestion": suggestion})
        console.print(f"written to {options.json}", soft_wrap=True)
    sys.exit(int(failures > 0))


def _print_section(console: Console, heading: str, sentences: list[str]) -> None:
    console.print(f"\n{heading}", style="bold")
    for sentence in sentences:
        console.print(f"  {printable(sentence)}", soft_wrap=True)


def _bins_sentences(env: Tabular) -> list[str]:
    """Return sentences on the bins of an environment; none if it has no bins."""
    bins = env.encoding.encoder.bins
    return [] if bins is None else bins_sentences(env.env, bins.counts.tolist(), bins.low.tolist(), bins.high.tolist())


def _uncertainty(diagnosis: Diagnosis, environment: EnvironmentOptions, options: DiagnoseOptions) -> list[str]:
    """Return a sentence on explorers that the seeds do not tell apart, if there are several."""
    names = [each.explorer for each in diagnosis.indistinguishable]
    if len(names) < 2 or not (diagnosis.reward_found or diagnosis.termination_is_goal):
        return []
    command = f"wanderlust compare {environment.command_line} --explorers {shlex.join(names)} --steps {diagnosis.steps}"
    return [
        f"With {counted(options.seeds, 'seed')}, {', '.join(names[:-1])} and {names[-1]} cannot be told apart. This "
        f"compares them: {command} --seeds {_MORE_SEEDS}"
    ]


def _suggestion(diagnosis: Diagnosis, environment: EnvironmentOptions, options: DiagnoseOptions) -> str:
    """Return a `wanderlust train` command, or the possible reasons why no reward was found."""
    steps = diagnosis.steps * (_MORE_STEPS if diagnosis.still_growing else 1)
    if diagnosis.reward_found or diagnosis.termination_is_goal:
        settings = [*options.settings, *_suggested_settings(diagnosis)]
        return _train_command(environment, diagnosis.suggested.explorer, steps, settings, options.preset)
    most = diagnosis.widest
    if diagnosis.still_growing:
        command = _train_command(environment, most.explorer, steps, options.settings, options.preset)
        return f"No reward was found yet, but the number of states still grows: {command}"
    return (
        f"No reward was found, and nearly all of {most.states:,.0f} states were discovered early: there may be no "
        "positive reward, states may be aliased (see --key, --bins), or episodes may be too short."
    )


def _suggested_settings(diagnosis: Diagnosis) -> list[str]:
    """Return settings other than the defaults, as name=value: a discount that fits the depth, and the reward range."""
    settings = []
    if diagnosis.depth is not None and diagnosis.reward_found and diagnosis.depth > 1 / (1 - _DEFAULT_DISCOUNT):
        settings.append(f"discount={round(1 - 1 / (2 * diagnosis.depth), 6)}")
    values = [each.value for each in diagnosis.rewards if each.value is not None]
    # Without its time penalty, a reward can be larger than all that were received.
    if diagnosis.reward_found and len(values) == len(diagnosis.rewards) and not diagnosis.time_penalties:
        settings.append(f"reward_range=[{min(values):g},{max(values):g}]")
    return settings


def _train_command(
    environment: EnvironmentOptions, explorer: str, steps: int, settings: Sequence[str], preset: str | None
) -> str:
    command = f"wanderlust train {environment.command_line} --explorer {shlex.quote(explorer)} --steps {steps}"
    command += f" --preset {preset}" if preset is not None else ""
    set_option = f" --set {shlex.join(settings)}" if settings else ""
    return f"{command}{set_option} --save agent.npz"


def _explorer_table(diagnosis: Diagnosis) -> Table:
    """Return one row per explorer, the best first."""
    headings = ["explorer", "states", "new in last quarter (%)", "seeds with reward", "first reward"]
    rows = [
        [
            each.explorer,
            f"{each.states:,.0f}",
            f"{each.late_states_percent:.0f}",
            f"{each.rewarded_seeds} of {each.seeds}",
            format_steps(each.first_reward, diagnosis.steps),
            format_steps(each.first_termination, diagnosis.steps),
            _range(each),
            f"{each.best_episode:.4g}" if math.isfinite(each.best_episode) else "–",
        ]
        for each in diagnosis.ranked
    ]
    return new_table([*headings, "first termination", "greedy return", "best training return"], rows)


def _range(each: ExplorerSummary) -> str:
    """Return the median of the greedy returns over seeds, and their range."""
    median, low, high = (f"{value:.4g}" for value in (each.greedy_return, each.min_return, each.max_return))
    return median if low == high else f"{median} ({low} to {high})"


def report_sections(diagnosis: Diagnosis) -> Iterator[tuple[str, list[str]]]:
    """Yield the heading and the sentences of every section of the report."""
    yield "Rewards", list(_reward_sentences(diagnosis))
    yield "States", list(_state_sentences(diagnosis))
    yield "Distractors", list(_distractor_sentences(diagnosis))
    yield "Stochasticity", [_stochasticity_sentence(diagnosis)]
    yield "Episodes", list(_episode_sentences(diagnosis))


def _reward_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    if len(diagnosis.rewards) == 1:
        yield f"Every step gave a reward of {diagnosis.rewards[0].value:g}: no explorer found another reward."
    elif diagnosis.termination_is_goal:
        yield (
            f"Rewards are not sparse: steps have a negative reward, {diagnosis.common_reward:g} for most, so every "
            "step changes the return."
        )
    elif diagnosis.common_reward is not None:
        sparse = "sparse" if diagnosis.other_rewards_percent < _DENSE_PERCENT else "not sparse"
        percent, common = f"{diagnosis.other_rewards_percent:.3g} %", f"{diagnosis.common_reward:g}"
        yield f"Rewards are {sparse}: {percent} of all steps gave a reward other than {common}."
    else:
        yield "Rewards are not sparse: nearly every step gave a different reward."
    for each in diagnosis.rewards[:_MAX_REWARDS_SHOWN]:
        value = "others" if each.value is None else f"{each.value:g}"
        yield (
            f"{value}: {counted(each.count, 'time')}, first at step {each.first_step:,} by {each.first_pair}; "
            f"received by {', '.join(each.explorers)}"
        )
    if len(diagnosis.rewards) > _MAX_REWARDS_SHOWN:
        yield f"... and {len(diagnosis.rewards) - _MAX_REWARDS_SHOWN} smaller rewards."
    if diagnosis.time_penalties:
        yield time_penalty_sentence(diagnosis.time_penalties, diagnosis.n_runs)
    if diagnosis.termination_is_goal:
        yield "No reward is positive and some episodes terminated: the goal is to terminate early."
    elif not diagnosis.reward_found:
        yield "No positive reward was received during training."


def _state_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    most = diagnosis.widest
    least = min(diagnosis.explorers, key=lambda each: each.states)
    if most.states == least.states:
        yield f"All explorers visited {most.states:,.0f} states."
    else:
        yield f"{most.explorer} visited {most.states:,.0f} states, {least.explorer} visited {least.states:,.0f}."
    if diagnosis.still_growing:
        yield (
            f"The number of states still grows: {most.explorer} discovered {most.late_states_percent:.0f} % of its "
            "states in the last quarter of the run. More steps will discover more states."
        )
    else:
        yield "The number of states has stopped growing: more steps will discover few new states."


def _distractor_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    best = diagnosis.ranked[0]
    if not diagnosis.reward_found:
        yield "No positive reward was found, so distractors cannot be detected."
    elif diagnosis.layouts_change:
        yield "Layouts change between episodes, so distractors cannot be detected."
    elif not diagnosis.distracted:
        yield "None detected: no explorer converged to a smaller reward than another explorer found."
    for each in diagnosis.distracted:
        yield (
            f"{each.explorer} converged to a return of {each.greedy_return:.4g}, but {best.explorer} found a policy "
            f"with a return of {best.greedy_return:.4g}: the smaller reward is a distractor."
        )
    unrewarded = [each.explorer for each in diagnosis.explorers if each.explorer not in diagnosis.rewarded_explorers]
    if diagnosis.reward_found and unrewarded:
        yield f"Explorers that received no positive reward: {', '.join(unrewarded)}."
    best_return = diagnosis.best_return
    if best_return is not None and best_return > diagnosis.best_policy + 1e-9 and not diagnosis.stochastic_pairs:
        yield (
            f"The best training episode had a return of {best_return:.4g}, but no greedy policy reaches it: more "
            "steps, or a larger discount, may help."
        )


def _stochasticity_sentence(diagnosis: Diagnosis) -> str:
    if not diagnosis.stochastic_pairs:
        return "Deterministic, as far as observed: every repeated state-action pair had the same outcome each time."
    percent = "Less than 1" if diagnosis.stochastic_percent < 1 else f"{diagnosis.stochastic_percent:.0f}"
    return (
        f"{percent} % of the repeated state-action pairs had different outcomes: the environment is stochastic, or "
        "states are aliased."
    )


def _episode_sentences(diagnosis: Diagnosis) -> Iterator[str]:
    total = diagnosis.terminated + diagnosis.truncated
    if not total:
        yield f"No episode ended within {counted(diagnosis.steps, 'step')}."
        return
    terminated, truncated = diagnosis.terminated, diagnosis.truncated
    yield f"Of {counted(total, 'episode')}, {terminated:,} terminated and {truncated:,} were truncated."
    yield f"The longest episode took {counted(diagnosis.longest_episode, 'step')}; {_limit(diagnosis)}."
    if diagnosis.layouts_change:
        yield (
            f"Nearly every episode began in a state of its own ({diagnosis.start_states:,} first states in "
            f"{counted(diagnosis.episodes_begun, 'episode')}): the layout changes between episodes, so an agent cannot "
            "use what it learnt in another one. --reset-seed 0 gives all episodes the same layout."
        )
    elif diagnosis.start_states > diagnosis.n_runs:
        yield f"Episodes begin in different states: about {diagnosis.start_states / diagnosis.n_runs:.0f} per run."
    if diagnosis.reward_found and diagnosis.depth is not None:
        yield f"The best return, {diagnosis.best_return:.4g}, took at least {counted(diagnosis.depth, 'step')}."


def _limit(diagnosis: Diagnosis) -> str:
    if diagnosis.horizon is not None:
        return f"the time limit is {counted(diagnosis.horizon, 'step')}"
    if diagnosis.truncations is None:
        return "no episode was truncated, and no time limit is known"
    low, high = diagnosis.truncations
    if low == high:
        return f"the time limit is {counted(low, 'step')}, as observed"
    return f"episodes were truncated after {low:,} to {high:,} steps"


def _json_values(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return all measurements and the report as JSON values; events that never occurred are null."""
    measurements = dataclasses.asdict(diagnosis)
    for each in measurements["explorers"]:
        del each["solved"], each["steps_to_solve"]  # There is no threshold.
    measurements["explorers"] = [finite_values(each) for each in measurements["explorers"]]
    return {
        **measurements,
        "still_growing": diagnosis.still_growing,
        "layouts_change": diagnosis.layouts_change,
        "indistinguishable": [each.explorer for each in diagnosis.indistinguishable],
        "distracted": [each.explorer for each in diagnosis.distracted],
        "report": dict(report_sections(diagnosis)),
    }
