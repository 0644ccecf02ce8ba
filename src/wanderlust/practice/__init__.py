"""Learning in any Gymnasium environment: the loop, what can be hung into it, and files to go on from."""

from wanderlust.practice.callbacks import Callback, Checkpoint
from wanderlust.practice.evaluation import EvaluateEvery, StopWhenSolved, evaluate
from wanderlust.practice.lesson import Lesson
from wanderlust.practice.logs import CsvLog, ProgressBar, TensorBoard
from wanderlust.practice.loop import learn

__all__ = [
    "Callback",
    "Checkpoint",
    "CsvLog",
    "EvaluateEvery",
    "Lesson",
    "ProgressBar",
    "StopWhenSolved",
    "TensorBoard",
    "evaluate",
    "learn",
]
