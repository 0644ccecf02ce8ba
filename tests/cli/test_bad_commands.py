"""Command lines with invalid values print one line and exit with code 2; names are printed as they are."""

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

import wanderlust as wl
from conftest import run_python
from wanderlust.cli import main as cli
from wanderlust.cli.options import EnvironmentOptions
from wanderlust.core.errors import BadFile
from wanderlust.core.files import check_writable, write_file

pytestmark = pytest.mark.slow


def test_explain_of_files_that_are_not_agents(run_cli, tmp_path):
    np.savez(tmp_path / "foreign.npz", weights=np.ones(3))
    (tmp_path / "empty.npz").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    names = ["foreign.npz", "empty.npz", "folder", "pipe", "missing", "my[/b].npz", "x" * 300, "a\0b", ""]
    for name in names:
        code, out, err = run_cli("explain", name, "--state", "0")
        assert (code, out) == (2, "")
        assert re.fullmatch("wanderlust: [^\n]+\n", err)
        assert name[:50].replace("\0", "\\x00") in err


def test_names_are_not_interpreted_as_markup(run_cli, tmp_path):
    (tmp_path / "my[").mkdir()
    (tmp_path / "my[" / "b].txt").write_text("S.A\n\nA = treasure 1\nname = [/b] [red]x\n")
    assert "[/b] [red]x, vv-ucb, seed 0" in run_cli.succeeds("watch", "my[/b].txt", "--steps", "4")


def test_output_files_that_cannot_be_written(tmp_path):
    long, file = tmp_path / ("x" * 300), tmp_path / "file"
    file.touch()
    for path in (long, long / "file", tmp_path / "a\0b", tmp_path, file / "below"):
        for write in (check_writable, lambda path: write_file(path, "x")):
            with pytest.raises(BadFile, match=r"cannot be written \("):
                write(path)
    check_writable(tmp_path / "new" / "folder" / "file")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "usage: wanderlust COMMAND"),
        ("trian FrozenLake-v1", "'trian'. Did you mean 'train'?"),
        ("train --hlep FrozenLake-v1", "option '--hlep'. Did you mean '--help'?"),
        ("train FrozenLake-v1 --hlep=3", "option '--hlep'. Did you mean '--help'?"),
        ("train --steps 5", "ENVIRONMENT"),
    ],
)
def test_unknown_and_missing_words_are_named(run_cli, words, message):
    code, out, err = run_cli(*words.split())
    assert code == 2
    assert message in out + err


def test_every_command_is_in_the_overview(run_cli):
    out = run_cli("--help")[1]
    assert "\x1b" not in out
    for name in cli.commands():
        assert re.search(rf"^  {name} +\S", out, flags=re.M), name


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_an_import_is_one_line(tmp_path, number):
    """A module that the command imports sends the signal to its own process."""
    (tmp_path / "tyro.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n")
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from wanderlust.cli.main import main; sys.argv = ['wanderlust', 'explorers']; main()"
    )
    done = run_python(code, PYTHONPATH=f"{tmp_path}{os.pathsep}{Path(wl.__file__).parents[1]}")
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "wanderlust: interrupted.\n")


def test_environment_options(tmp_path):
    for bounds in ("²=1,2", "9" * 5000 + "=1,2", "a=1,2", "1=1", "1=a,b"):
        with pytest.raises(wl.WanderlustError, match="bound"):
            EnvironmentOptions("MountainCar-v0", bins=(3,), bounds=(bounds,)).make()
    assert len(EnvironmentOptions("x" * 300).file_name) == 80
    os.mkfifo(tmp_path / "pipe.txt")
    for path, reason in ((tmp_path / "pipe.txt", "pipe"), ("x" * 300 + ".txt", "too long"), ("a\0b.txt", "path")):
        with pytest.raises(wl.WanderlustError, match=reason):
            _ = EnvironmentOptions(str(path)).env_options
