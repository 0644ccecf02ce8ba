"""The entry point: finds and runs a command, and turns errors and signals into messages and exit codes.

A command is a function in a module of the same name, or in that of `_MODULES`: its parameters are the arguments, its
docstring is the help text. The module is imported when the command is called. Other packages add commands as entry
points; see `wanderlust.core.extensions`.
"""

from __future__ import annotations

import ast
import contextlib
import errno
import functools
import importlib
import importlib.util
import io
import os
import re
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

COMMANDS = (
    "train", "evaluate", "compare", "diagnose", "explain", "watch", "studio", "worlds", "explorers", "exam",
    "sweep", "status", "results", "report", "run", "clean",
)  # fmt: skip
_MODULES = {"worlds": "listings", "explorers": "listings", "clean": "results"}
_READING_COMMANDS = ("clean", "report", "results", "status")
"""Commands that read untrusted files and execute no user-defined code."""
_TERMINATION_SIGNALS = ("SIGTERM", "SIGHUP")
_CALLBACK_OF_IMPORT = "<frozen importlib._bootstrap>", "cb"
"""A callback of a weak reference: Python prints and ignores what is raised in it, so the signal is sent again."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, handled like Ctrl-C."""

    number = signal.SIGTERM


def main() -> None:
    """Run the command given on the command line; invalid input prints a message instead of a traceback."""
    # Nothing is imported from the package before this: an interrupt during an import is one line, too.
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # Not all terminals have all characters.
        with _termination_interrupts(), _warnings_as_sentences():
            try:
                _run(sys.argv[1:])
            finally:
                sys.stdout.flush()  # Here, an error becomes a message.
    except KeyboardInterrupt as interrupt:
        number = interrupt.number if isinstance(interrupt, _Terminated) else signal.SIGINT
        _stop(str(interrupt) or "interrupted.", 128 + number)
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed the pipe.
        _discard_output()
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _discard_output()
        _stop("the output cannot be written: no space left on the device.", 1)
    except ValueError as error:
        from wanderlust.core.errors import WanderlustError

        if not isinstance(error, WanderlustError):
            raise
        _stop(str(error), error.exit_code)


def _run(words: list[str]) -> None:
    """Run the command that the first word names."""
    name = words[0] if words else "--help"
    if name == "--version":
        from wanderlust.version import __version__

        print(f"wanderlust {__version__}")
    elif name in ("-h", "--help"):
        print(_overview())
        sys.exit(0 if words else 2)
    elif name == "--tyro-print-completion":
        import tyro

        from wanderlust.core.errors import check_choice

        check_choice("shell", " ".join(words[1:]), ("bash", "zsh", "tcsh", "fish"))
        functions = {each: _command(each) for each in commands()}
        config = (tyro.conf.FlagCreatePairsOff,)
        tyro.extras.subcommand_cli_from_dict(functions, prog="wanderlust", args=words, config=config)
    else:
        # User-defined module:name arguments are imported from the working directory, as with `python -m`.
        if not {"", os.getcwd()} & set(sys.path) and name not in _READING_COMMANDS:
            sys.path.append(os.getcwd())
        _parse(_command(name), name, words[1:])()


def _parse(command: Callable[..., None], name: str, words: list[str]) -> Callable[[], None]:
    """Return the call of a command with its arguments; invalid ones print a message and exit."""
    import tyro

    @functools.wraps(command)
    def call(*arguments: Any, **options: Any) -> Callable[[], None]:
        return functools.partial(command, *arguments, **options)

    is_help = not {"-h", "--help"}.isdisjoint(words)
    parse = functools.partial(tyro.cli, call, prog=f"wanderlust {name}", config=(tyro.conf.FlagCreatePairsOff,))
    try:
        parsed: Callable[[], None] = parse(args=words, console_outputs=is_help)
    except SystemExit as stop:
        if stop.code:
            # tyro reports a missing argument first, even if an unknown option has taken its value.
            _check_options(parse, words)
            parse(args=words)
        raise
    return parsed


def _check_options(parse: Callable[..., Any], words: list[str]) -> None:
    """Raise an error if a word is an option that is not in the help text of a command."""
    from wanderlust.core.errors import unknown_name

    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        parse(args=["--help"])
    known = re.findall(r"^. (?:-h, )?(--[\w-]+)", text.getvalue(), re.MULTILINE)
    for word in words:
        option = word.partition("=")[0].replace("_", "-")
        if re.fullmatch(r"--[a-zA-Z][\w-]*", option) and option not in known:
            raise unknown_name("option", option, known)


def _command(name: str) -> Callable[..., Any]:
    """Return the function of a command."""
    from wanderlust.core.errors import unknown_name

    target = _own_commands().get(name) or commands().get(name)
    if target is None:
        raise unknown_name("command", name, commands())
    module, _, function = target.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _own_commands() -> dict[str, str]:
    return {name: f"wanderlust.cli.{_MODULES.get(name, name)}:{name}" for name in COMMANDS}


def commands() -> dict[str, str]:
    """Return the module:function of every command; those of other packages follow those of this one."""
    from wanderlust.core.extensions import COMMANDS as GROUP
    from wanderlust.core.extensions import extensions

    own = _own_commands()
    return own | {each.name: each.value for each in extensions(GROUP) if each.name not in own}


def _overview() -> str:
    """Return the help text of all commands: one line each, the first of the docstring."""
    found = commands()
    width = max(map(len, found)) + 4
    lines = [f"  {name}".ljust(width) + _summary(target) for name, target in found.items()]
    shown = [textwrap.fill(line, 100, subsequent_indent=" " * width) for line in lines]
    return "\n".join(
        [
            "usage: wanderlust COMMAND [arguments]",
            "",
            "Exploration for sparse-reward reinforcement learning: a long-term visitation value W beside any Q.",
            "",
            "  see it           wanderlust studio wall --explorers epsilon-greedy ucb1 vv-ucb",
            "  first agent      wanderlust train FrozenLake-v1 --env map_name=8x8 is_slippery=false --steps 1000",
            '  beside your Q    in Python: wanderlust.Explorer("vv-ucb", ...)',
            "  the paper        wanderlust reproduce recap --quick",
            "",
            *shown,
            "",
            "wanderlust COMMAND --help lists the arguments of a command; wanderlust --version prints the version.",
        ]
    )


def _summary(target: str) -> str:
    """Return the first line of the docstring of a command, without importing its module."""
    module, _, function = target.partition(":")
    try:
        spec = importlib.util.find_spec(module)
        source = spec.loader.get_source(module) if spec and spec.loader else ""  # type: ignore[attr-defined]
    except (ImportError, AttributeError):
        return ""
    for node in ast.parse(source or "").body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""


@contextlib.contextmanager
def _termination_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt the command as Ctrl-C does, unless the process ignores or handles them."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        if frame is not None and (frame.f_code.co_filename, frame.f_code.co_name) == _CALLBACK_OF_IMPORT:
            threading.Timer(0.01, _interrupt_main_thread, [number]).start()
            return
        terminated = _Terminated()
        terminated.number = signal.Signals(number)
        raise terminated

    numbers = [getattr(signal, name) for name in _TERMINATION_SIGNALS if hasattr(signal, name)]
    is_main_thread = threading.current_thread() is threading.main_thread()
    replaced = [number for number in numbers if is_main_thread and signal.getsignal(number) == signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


def _interrupt_main_thread(number: int) -> None:
    """Send a signal to the main thread, so that it does not wait until a call of the system ends."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


@contextlib.contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    """Print each warning once, without the place in the code."""
    printed: set[str] = set()

    def print_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        kind = "" if issubclass(category, UserWarning) else f"{category.__name__}: "
        if str(message) not in printed:
            printed.add(str(message))
            print(f"wanderlust: warning: {kind}{message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = print_warning
        yield


def _stop(message: str, code: int) -> None:
    print(f"wanderlust: {message}", file=sys.stderr)
    sys.exit(code)


def _discard_output() -> None:
    """Discard what is not flushed yet, and the output that follows."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
