"""Names of code that come from files are not imported without the user's permission."""

import sys

import pytest

import wanderlust as wl
from wanderlust.core.errors import UntrustedCode
from wanderlust.core.user_code import check_allowed, modules_named

SWEEP = """
seeds = 1
explorers = ["{explorer}"]
settings = {{ steps = 20 }}
{encoders}
[environments."{environment}"]
{options}
"""
LAKE = "FrozenLake-v1"


@pytest.fixture
def payload(tmp_path, monkeypatch):
    """A module that leaves a trace when it is imported; return the file of that trace."""
    trace = tmp_path / "executed"
    (tmp_path / "payload.py").write_text(
        f"import gymnasium as gym, os\nopen({str(trace)!r}, 'w').close()\n"
        "def lake(): return gym.make('FrozenLake-v1')\n"
        "def key(observation): return observation\n"
        "class Base: pass\n"
        "system = os.system\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield trace
    sys.modules.pop("payload", None)


def sweep_file(folder, *, explorer="vv-ucb", environment=LAKE, encoders="", options=""):
    path = folder / "sweep.toml"
    path.write_text(SWEEP.format(explorer=explorer, environment=environment, encoders=encoders, options=options))
    return path


NAMED = (
    {"environment": "payload:lake"},
    {"explorer": "payload:Base"},
    {"encoders": 'encoders = { key = "payload:key" }'},
    {"encoders": 'zip = [{ explorer = ["payload:Base"], kappa = [1] }]'},
)


@pytest.mark.parametrize("named", NAMED, ids=str)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_file_does_not_decide_what_is_imported(named, dry_run, tmp_path, payload, command):
    path = sweep_file(tmp_path, **named)
    with pytest.raises(UntrustedCode, match=r"payload.*--allow-code payload"):
        wl.Sweep.from_file(path)
    code, printed = command("sweep", path, *(["--dry-run"] if dry_run else []))
    assert code != 0
    assert "payload" in printed
    assert not payload.exists()


def test_an_allowed_module_is_imported(tmp_path, payload):
    path = sweep_file(tmp_path, environment="payload:lake")
    results = wl.Sweep.from_file(path, allow_code=["payload"]).run(tmp_path / "results", jobs=1, progress=None)
    assert payload.exists()
    assert not results.failures


def test_only_code_of_the_named_package_is_called(tmp_path, payload):
    touched = tmp_path / "touched"
    for name in ("os:system", "payload:system"):
        path = sweep_file(tmp_path, environment=name, options=f'command = "touch {touched}"')
        with pytest.raises(wl.WanderlustError, match="system"):
            wl.Sweep.from_file(path, allow_code=["os", "payload"]).run(tmp_path / "out", jobs=1)
        assert not touched.exists()


def test_packages_allow_their_modules_and_no_others():
    check_allowed("x.toml", {"a": ["lab.envs:make"]}, ["lab"])
    with pytest.raises(UntrustedCode, match="laboratory"):
        check_allowed("x.toml", {"laboratory:make": {}}, ["lab"])
    assert modules_named({"key": "info:room", "map": "S.G", "x": [{"a.b:C": 1}]}) == ["a.b"]
