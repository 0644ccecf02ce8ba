"""The command `diagnose`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from wanderlust.cli import options as arguments
from wanderlust.core.errors import WanderlustError, counted
from wanderlust.core.files import check_writable, write_json

if TYPE_CHECKING:
    from wanderlust.experiments.diagnosis import Diagnosis

_DEFAULT_DISCOUNT = 0.99
_EPISODES = 10
_MORE_STEPS = 5
_MORE_SEEDS = 20
_TABLE_NOTE = (
    "Medians over seeds. Greedy return: of the final greedy policy, with the range over seeds. Best training return: "
    "of any episode while exploring. >N: not within N steps."
)


@dataclass(frozen=True)
class DiagnoseOptions(arguments.RunsOptions):
    """The options of `diagnose`, except those of the environment."""

    explorers: arguments.Names = ("random", *arguments.DEFAULT_EXPLORERS)
    seeds: arguments.Number = 5
    out: arguments.OptionalFolder = None
    """Folder for the runs; results/diagnose-ENVIRONMENT if not given."""
    json: arguments.OptionalFile = None
    """Also write all measurements as JSON."""


def diagnose(
    options: Annotated[DiagnoseOptions, arg(name="")],
    environment: arguments.EnvironmentArgument,
    execution: arguments.ExecutionArgument = arguments.LOCAL,
) -> None:
    """Measure how hard an environment is to explore: reward sparsity, depth, distractors and stochasticity.

    Trains several explorers for the same number of steps, prints a report, and suggests a `wanderlust train` command.

    Example: wanderlust diagnose my_package:make_env --steps 50000

    Example: wanderlust diagnose prison --steps 1000 --json prison.json
    """
    from wanderlust.cli.runs import execute_runs, plan_runs, version_note
    from wanderlust.environments.bins import bins_options
    from wanderlust.experiments import diagnosis as measured
    from wanderlust.experiments.report.text_tables import new_console, new_table, print_lines

    if options.json is not None:
        check_writable(options.json)
    env = environment.make()
    # The report needs only the final evaluation.
    runs = plan_runs(environment, env, options, episodes=_EPISODES, evaluate_every=options.steps)
    horizon, n_actions, hardness = env.horizon, env.n_actions, measured.model_hardness(env)
    options_of_bins = bins_options(env.env) if env.is_binned else None
    encoding = env.encoding.encoder.kind
    env.close()
    folder = options.out or Path("results") / f"diagnose-{environment.file_name}"
    results, failures = execute_runs(runs, folder, execution)
    if not any(results.values()):
        raise WanderlustError("all runs failed, so there is no report; see the errors above.")
    diagnosis = measured.diagnose_results(results, steps=options.steps, horizon=horizon, encoding=encoding)
    if hardness is None and diagnosis.seldom_repeat:
        hardness = measured.FoundHardness(None, "none", "Not estimated, since states seldom repeat.")
    hardness = hardness or measured.estimated_hardness(results, n_actions=n_actions, horizon=horizon)
    suggestion = _suggestion(diagnosis, environment, options)
    preset, console = runs[0].preset, new_console(120, highlight=False)
    counts = f"{counted(n_actions, 'action')}, {counted(options.seeds, 'seed')} per explorer"
    print_lines(console, [f"{environment.command_line}: {counts}, preset {preset}"])
    console.print(new_table(measured.TABLE_HEADINGS, measured.table_cells(diagnosis)), crop=False)
    print_lines(console, [_TABLE_NOTE, version_note(runs[0])])
    sections = {
        **dict(measured.report_sections(diagnosis)),
        "Bins": options_of_bins and [f"From the ranges that random actions reach: {options_of_bins}"],
        "Hardness": hardness.sentences,
        "Suggestion": [suggestion, *_uncertainty(diagnosis, environment, options)],
    }
    for heading, sentences in sections.items():
        if sentences:
            console.print(f"\n{heading}", style="bold")
            print_lines(console, sentences, indent="  ")
    if options.json is not None:
        document = {"environment": environment.command_line, "seeds": options.seeds, "preset": preset}
        document |= measured.json_values(diagnosis)
        write_json(options.json, {**document, "hardness": hardness.json_values, "suggestion": suggestion})
        print_lines(console, [f"written to {options.json}"])
    sys.exit(int(failures > 0))


def _uncertainty(
    diagnosis: Diagnosis, environment: arguments.EnvironmentOptions, options: DiagnoseOptions
) -> list[str]:
    """Return a sentence on explorers that the seeds do not tell apart, if there are several."""
    names = [each.explorer for each in diagnosis.indistinguishable]
    if len(names) < 2 or not (diagnosis.reward_found or diagnosis.termination_is_goal):
        return []
    command = f"wanderlust compare {environment.command_line} --explorers {shlex.join(names)} --steps {diagnosis.steps}"
    return [
        f"With {counted(options.seeds, 'seed')}, {', '.join(names[:-1])} and {names[-1]} cannot be told apart. This "
        f"compares them: {command} --seeds {_MORE_SEEDS}"
    ]


def _suggestion(diagnosis: Diagnosis, environment: arguments.EnvironmentOptions, options: DiagnoseOptions) -> str:
    """Return a `wanderlust train` command, or the possible reasons why no reward was found."""

    def command(explorer: str, settings: Sequence[str]) -> str:
        steps = diagnosis.steps * (_MORE_STEPS if diagnosis.still_growing else 1)
        words = ["--explorer", explorer, "--steps", str(steps), *arguments.option_words(options, "preset")]
        words += ["--set", *settings] if settings else []
        return f"wanderlust train {environment.command_line} {shlex.join(words)} --save agent.npz"

    if diagnosis.seldom_repeat:
        return "States seldom repeat, so more steps alone will not help: change the state key first, see States above."
    if diagnosis.reward_found or diagnosis.termination_is_goal:
        return command(diagnosis.suggested.explorer, [*options.settings, *_suggested_settings(diagnosis)])
    most = diagnosis.widest
    if diagnosis.still_growing:
        return (
            f"No reward was found yet, but the number of states still grows: {command(most.explorer, options.settings)}"
        )
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
