"""Names of code that come from files are not imported without the user's permission."""

import json
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
IN_ENVIRONMENT = {"kind": "environment", "settings": {"steps": 20}}


@pytest.fixture
def payload(tmp_path, monkeypatch):
    """A module that leaves a trace when it is imported; return the file of that trace."""
    trace = tmp_path / "executed"
    (tmp_path / "payload.py").write_text(
        f"import gymnasium as gym, os\nopen({str(trace)!r}, 'w').close()\n"
        "def lake(): return gym.make('FrozenLake-v1')\n"
        "def key(observation): return observation\n"
        f"class Base:\n    def __init__(self): open({str(trace) + '-called'!r}, 'w').close()\n"
        "class Lake(gym.Wrapper):\n    def __init__(self): super().__init__(lake())\n"
        "def nothing(): pass\n"
        "from decimal import Decimal\n"
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
def test_a_file_does_not_decide_what_is_imported(named, tmp_path, payload, command):
    path = sweep_file(tmp_path, **named)
    with pytest.raises(UntrustedCode, match=r"payload.*--allow-code payload"):
        wl.Sweep.from_file(path)
    for more in ([], ["--dry-run"]):
        code, printed = command("sweep", path, *more)
        assert code != 0
        assert "payload" in printed
    assert not payload.exists()


def test_odd_names_import_nothing_either(tmp_path, payload):
    (tmp_path / "info.py").write_text((tmp_path / "payload.py").read_text())
    for name in ("payload:", "payload: lake", "payload:lake:x", "info:lake"):
        for named in ({"environment": name}, {"explorer": name}):
            with pytest.raises(wl.WanderlustError, match=name.partition(":")[0]):
                wl.Sweep.from_file(sweep_file(tmp_path, **named))
    assert not payload.exists()


def test_an_allowed_module_is_imported_and_that_is_said(tmp_path, payload, capsys):
    path = sweep_file(tmp_path, environment="payload:Lake")
    results = wl.Sweep.from_file(path, allow_code=["payload"]).run(tmp_path / "results", jobs=1, progress=None)
    assert payload.exists()
    assert not results.failures
    assert "importing payload, as allowed by --allow-code" in capsys.readouterr().err


def test_a_dry_run_imports_nothing(tmp_path, payload, command):
    from_file = (sweep_file(tmp_path, environment="payload:lake", explorer="payload:Base"), "--allow-code", "payload")
    for words in (from_file, ("--world", "toy", "--explorer", "payload:Base", "ucb1", "--set", "x=1,2")):
        code, printed = command("sweep", *words, "--dry-run")
        assert code == 0, printed
        assert "not checked payload" in printed
        assert "importing" not in printed
    assert not payload.exists()


def test_run_says_what_it_imports(payload, command):
    code, printed = command("run", wl.Run(world="payload:nothing", explorer="random", **IN_ENVIRONMENT).json)
    assert code != 0
    assert "importing payload, which the description names" in printed
    assert "must return a gymnasium.Env" in printed
    assert payload.exists()


def test_only_code_of_the_named_package_is_called(tmp_path, payload):
    touched = tmp_path / "touched"
    for name in ("os:system", "payload:system"):
        path = sweep_file(tmp_path, environment=name, options=f'command = "touch {touched}"')
        with pytest.raises(wl.WanderlustError, match="system"):
            wl.Sweep.from_file(path, allow_code=["os", "payload"]).run(tmp_path / "out", jobs=1)
        assert not touched.exists()


NOT_SUITABLE = (
    {"environment": "payload:Base"},
    {"environment": "payload:Decimal"},
    {"environment": "payload:nothing"},
    {"explorer": "payload:Decimal"},
    {"explorer": "payload:lake"},
    {"encoders": 'encoders = { key = "payload:Base" }'},
    {"encoders": 'encoders = { key = "payload:system" }'},
)


@pytest.mark.parametrize("named", NOT_SUITABLE, ids=str)
def test_what_is_called_must_be_suitable(named, tmp_path, payload):
    with pytest.raises(wl.WanderlustError, match="payload"):
        wl.Sweep.from_file(sweep_file(tmp_path, **named), allow_code=["payload"])
    assert payload.exists()
    assert not payload.with_name("executed-called").exists()


def test_files_of_results_import_nothing(tmp_path, payload, command):
    """Stored sweeps, exams and comparisons are read by `report`; their names are text."""
    results, run = tmp_path / "results", wl.Run(world="payload:lake", explorer="payload:Base", **IN_ENVIRONMENT)
    store = wl.Store(results)
    store.prepare()
    store.save(run, wl.Run(world=LAKE, explorer="random", **IN_ENVIRONMENT).train(), 0.0)
    selection = {"explorers": ["payload:Base"], "families": ["depth"], "levels": [1], "seeds": 1, "held_out": False}
    files = {
        "sweeps/mine/sweep.json": {"worlds": ["toy"], "explorers": ["payload:Base"], "name": "mine"},
        "exams/mine/exam.json": {"suite": 1, **selection, "options": {}, "step_microseconds": {}},
        "comparison.json": {"title": "toy", "solved": [None, ""], "runs": [run.description]},
    }
    for name, contents in files.items():
        file = results / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(contents))
        code, printed = command("report", results)
        assert "Traceback" not in printed
        assert code == 0, printed
    assert not payload.exists()


def test_files_of_the_studio_import_nothing(payload, command, tmp_path):
    (tmp_path / "setup.toml").write_text('world = "toy"\n[[lanes]]\nexplorer = "payload:Base"\n')
    code, printed = command("studio", "setup.toml", "--export", "a.html")
    assert code == 2
    assert "unknown explorer 'payload:Base'" in printed
    assert not payload.exists()


def test_an_agent_file_does_not_decide_what_is_imported(tmp_path, payload, command):
    agent = wl.learn(LAKE, "random", steps=10, quiet=True)
    for name, options in (("payload:lake", {}), ("GymV21Environment-v0", {"env_id": "payload:lake"})):
        agent.environment = {"name": name, "options": options, "reset_seed": None}
        agent.save(tmp_path / "agent.npz")
        code, printed = command("evaluate", "agent.npz")
        assert code == 2
        assert "payload" in printed
        assert not payload.exists()


def test_packages_allow_their_modules_and_no_others():
    check_allowed("x.toml", {"a": ["lab.envs:make"]}, ["lab"])
    with pytest.raises(UntrustedCode, match="laboratory"):
        check_allowed("x.toml", {"laboratory:make": {}}, ["lab"])
    assert modules_named({"key": "info:room", "map": "S.G", "x": [{"a.b:C": 1}]}) == ["a.b"]
