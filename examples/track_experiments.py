"""Log a training to Weights & Biases or to MLflow, each with a callback of a few lines."""
# ruff: noqa: D102

import importlib.util

import wanderlust as wl


class WandbLog(wl.Callback):
    """Weights & Biases: one run, one point per episode."""

    def on_start(self, loop):
        self.run = packages["wandb"].init(project="wanderlust", config={"explorer": loop.agent.explorer})

    def on_episode_end(self, loop):
        self.run.log({"return": loop.episode_return, "states": loop.agent.discovered}, step=loop.step)

    def on_end(self, loop):
        self.run.finish()


class MlflowLog(wl.Callback):
    """MLflow: the same."""

    def on_start(self, loop):
        packages["mlflow"].start_run(tags={"explorer": loop.agent.explorer})

    def on_episode_end(self, loop):
        metrics = {"return": loop.episode_return, "states": loop.agent.discovered}
        packages["mlflow"].log_metrics(metrics, step=loop.step)

    def on_end(self, loop):
        packages["mlflow"].end_run()


logs = {"wandb": WandbLog, "mlflow": MlflowLog}
packages = {name: importlib.import_module(name) for name in logs if importlib.util.find_spec(name)}
agent = wl.learn("FrozenLake-v1", "vv-ucb", steps=2_000, callbacks=[logs[name]() for name in packages], quiet=True)
print("steps:", agent.steps, "logged to:", list(packages) or "nothing; pip install wandb or mlflow")
