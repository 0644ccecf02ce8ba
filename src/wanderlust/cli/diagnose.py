"""The command `diagnose`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from wanderlust.cli.arguments import DEFAULT_EXPLORERS, Explorers, RunsOptions, Seeds
from wanderlust.cli.environment_options import EnvironmentArgument, EnvironmentOptions
from wanderlust.core.errors import WanderlustError, counted

if TYPE_CHECKING:
    from rich.console import Console

    from wanderlust.environments.tabular import Tabular
    from wanderlust.experiments.diagnosis import Diagnosis

_DEFAULT_DISCOUNT = 0.99
_MORE_STEPS = 5
_MORE_SEEDS = 20


@dataclass(frozen=True)
class DiagnoseOptions(RunsOptions):
    """The options of `diagnose`, except those of the environment."""

    explorers: Explorers = ("random", *DEFAULT_EXPLORERS)
    seeds: Seeds = 5
    out: Annotated[
        Path | None, arg(metavar="FOLDER", help="Folder for the runs; results/diagnose-ENVIRONMENT if not given.")
    ] = None
    json: Annotated[Path | None, arg(metavar="FILE", help="Also write all measurements as JSON.")] = None


def diagnose(options: Annotated[DiagnoseOptions, arg(name="")], environment: EnvironmentArgument) -> None:
    """Measure how hard an environment is to explore: reward sparsity, depth, distractors and stochasticity.

    Trains several explorers for the same number of steps, prints a report, and suggests a `wanderlust train` command.

    Example: wanderlust diagnose my_package:make_env --steps 50000

    Example: wanderlust diagnose prison --steps 1000 --json prison.json
    """
    from wanderlust.cli.diagnosis_report import TABLE_NOTE, explorer_table, json_values, report_sections
    from wanderlust.cli.printing import new_console
    from wanderlust.cli.runs import execute_runs, plan_runs, version_note
    from wanderlust.core.files import check_writable, write_json
    from wanderlust.experiments.diagnosis import diagnose_results, estimated_hardness, model_hardness
    from wanderlust.experiments.report.text_tables import fit_to_width, printable

    if options.json is not None:
        check_writable(options.json)
    env = environment.make()
    # The report needs only the final evaluation.
    runs = plan_runs(environment, env, options, evaluate_every=options.steps)
    horizon, n_actions, hardness = env.horizon, env.n_actions, model_hardness(env)
    bins = _bins_sentences(env)
    env.close()
    folder = options.out or Path("results") / f"diagnose-{environment.file_name}"
    results, failures = execute_runs(runs, folder, options)
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
    console.print(fit_to_width(explorer_table(diagnosis), console.width))
    for note in filter(None, [TABLE_NOTE, version_note(runs[0])]):
        console.print(printable(note), soft_wrap=True)
    sections = [*report_sections(diagnosis), *([("Bins", bins)] if bins else [])]
    for heading, sentences in sections:
        _print_section(console, heading, sentences)
    _print_section(console, "Hardness", hardness.sentences)
    _print_section(console, "Suggestion", [suggestion, *_uncertainty(diagnosis, environment, options)])
    if options.json is not None:
        document = {"environment": environment.command_line, "seeds": options.seeds, "preset": preset}
        document |= json_values(diagnosis)
        write_json(options.json, {**document, "hardness": hardness.json_values, "suggestion": suggestion})
        console.print(f"written to {options.json}", soft_wrap=True)
    sys.exit(int(failures > 0))


def _print_section(console: Console, heading: str, sentences: list[str]) -> None:
    from wanderlust.experiments.report.text_tables import printable

    console.print(f"\n{heading}", style="bold")
    for sentence in sentences:
        console.print(f"  {printable(sentence)}", soft_wrap=True)


def _bins_sentences(env: Tabular) -> list[str]:
    """Return sentences on the bins of an environment; none if it has no bins."""
    from wanderlust.environments.bins_advice import bins_sentences

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
