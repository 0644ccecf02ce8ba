"""What several tests of the paper's studies use."""

import io

from rich.console import Console

from wanderlust.experiments.execute import Execution
from wanderlust_paper.registry import find_study
from wanderlust_paper.reproduce import reproduce, write_scorecard


def run_study(study, selection, folder, formats=()):
    """Run a study, write its report and the scorecard; return what was printed."""
    text = io.StringIO()
    console = Console(file=text, width=170)
    execution = Execution(jobs=1)
    summary, report = reproduce(
        find_study(study), selection, folder, execution=execution, quiet=False, console=console, formats=formats
    )
    assert summary.failures == []
    write_scorecard(folder, selection.suffix, {f"{study}{selection.suffix}": report}, console)
    return text.getvalue()
