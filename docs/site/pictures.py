"""The pictures of the site: the worlds, and learning curves from short runs.

python docs/site/pictures.py    # draws docs/pictures/visits.png, the picture of the README
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import wanderlust as wl
from wanderlust.core.planning import optimal_values, reachable_states
from wanderlust.experiments.report.figures import LIGHT_GREY, Curves, explorer_styles, mean_curves, styled
from wanderlust.worlds.raster import Renderer
from wanderlust_paper.figures.maps import CountMap, maps_figure
from wanderlust_paper.registry import EXPLORERS

WORLD, SEEDS = "prison", range(1, 11)
PICTURED = {"deep-sea": {"depth": 10, "flag": "treasure"}}
"""Options of the pictured world, where its default is too large to be readable."""


OVERVIEW = Path(__file__).parents[1] / "pictures" / "visits.png"


def draw_overview(file: Path) -> None:
    """Draw the visits of four explorers in the world with the wall, after the paper's number of steps."""
    world = wl.make_world("wall")
    shape = world.layout.rows, world.layout.columns
    unreachable = ~reachable_states(world.mdp).reshape(shape)
    maps = []
    for name in ("vv-ucb", "bonus", "ucb1", "epsilon-greedy"):
        record = wl.train(world, name, seed=1)
        success = 100 * record.returns[-1] / float(world.mdp.start @ optimal_values(world.mdp).v)
        visits = record.visits.sum(axis=1).reshape(shape)
        maps.append(CountMap(f"{name}\nreturn {success:.0f} % of the optimum", visits, unreachable))
    figure = maps_figure("", {"": maps})
    figure.set_figheight(2.6)  # Without the space for a title.
    figure.savefig(file, dpi=130, bbox_inches="tight", pad_inches=0.05)


def draw_worlds(folder: Path) -> None:
    """Write a picture of every world."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in wl.world_names():
        world = wl.make_world(name, **PICTURED.get(name, {}))
        renderer = Renderer(world.layout)
        frame = renderer.frame(int(world.mdp.start.argmax()), np.zeros(world.n_states, np.int64), "")
        image = Image.fromarray(frame[: world.layout.rows * renderer.cell])
        image.save(folder / f"{name}.png", optimize=True)


def draw_curves(folder: Path) -> None:
    """Train the paper's explorers for a few seconds in total, and draw each curve with the others in grey."""
    folder.mkdir(parents=True, exist_ok=True)
    curves = {name: _train(name) for name in EXPLORERS}
    _figure(curves, None).savefig(folder / "all.png", dpi=130)
    for name in EXPLORERS:
        _figure(curves, name).savefig(folder / f"{name}.png", dpi=130)


def _train(name: str) -> Curves:
    world = wl.make_world(WORLD)
    reachable = int(reachable_states(world.mdp).sum())
    optimum = float(world.mdp.start @ optimal_values(world.mdp).v)
    runs = []
    for seed in SEEDS:
        record = wl.train(world, name, seed=seed)
        runs.append(np.stack([record.steps, 100 * record.discovered / reachable, 100 * record.returns / optimum]))
    return mean_curves(runs)


@styled
def _figure(curves: dict[str, Curves], highlighted: str | None) -> Figure:
    figure = Figure(figsize=(7.6, 2.9), layout="constrained")
    panels = figure.subplots(1, 2)
    styles = explorer_styles(curves)
    for axes, measure, label in zip(
        panels, ("discovery", "success"), ("states discovered (%)", "return (% of optimum)"), strict=True
    ):
        axes.set(xlabel="step", ylabel=label, ylim=(-4, 104))
        for name, each in curves.items():
            mean, error = getattr(each, measure)
            strong = highlighted in (None, name)
            style = styles[name]
            axes.plot(
                each.steps,
                mean,
                label=name,
                color=style.colour if strong else LIGHT_GREY,
                linestyle=style.dash,
                linewidth=1.8 if name == highlighted else 1.1,
                zorder=3 if strong else 2,
            )
            if name == highlighted:
                axes.fill_between(each.steps, mean - error, mean + error, color=style.colour, alpha=0.2, linewidth=0)
    if highlighted is None:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure


if __name__ == "__main__":
    draw_overview(OVERVIEW)
