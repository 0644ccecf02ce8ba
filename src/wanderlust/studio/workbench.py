"""A workbench: the lanes of one page, advanced together. It knows nothing of the connection to the page."""

from __future__ import annotations

import time
from typing import Any

from wanderlust.core.files import finite_values
from wanderlust.experiments.run import Run
from wanderlust.explorers.protocol import has_own_choice
from wanderlust.explorers.registry import explorer_class
from wanderlust.studio.catalogue import checked_world, describe_world
from wanderlust.studio.frames import step_of
from wanderlust.studio.lane import Lane
from wanderlust.studio.setup import Setup, snippets

_FIRST_CHUNK = 8
_CHUNK_GROWTH = 8


class Workbench:
    """One world, and a lane for each explorer; all lanes are at the same step."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.world, self.warnings = checked_world(setup)
        self.runs: tuple[Run, ...] = setup.runs(self.world)
        self.lanes = [Lane(run, self.world, index=i) for i, run in enumerate(self.runs)]
        self.length = max(lane.length for lane in self.lanes)
        self._sent_points = [0] * len(self.lanes)
        self._sent_events = [0] * len(self.lanes)

    @property
    def step(self) -> int:
        """The number of steps that all lanes have done."""
        return min(lane.step for lane in self.lanes)

    @property
    def finished(self) -> bool:
        """Whether the budget is used up."""
        return self.step >= self.length

    def description(self) -> dict[str, Any]:
        """Return what a page needs to show the lanes."""
        return {
            "world": describe_world(self.world),
            "setup": self.setup.description,
            "length": self.length,
            "lanes": [describe_lane(lane) for lane in self.lanes],
            "snippets": snippets(self.setup, self.runs),
            "warnings": self.warnings,
        }

    def advance(self, until: int, seconds: float) -> None:
        """Run all lanes towards a step for at most about the given time; all end at the same step."""
        until, chunk = min(until, self.length), _FIRST_CHUNK
        deadline = time.perf_counter() + seconds
        while self.step < until and (left := deadline - time.perf_counter()) > 0:
            # Measured with the last chunk: a few steps may have been faster than those that follow.
            cost = sum(lane.seconds_per_step for lane in self.lanes)
            chunk = max(min(int(left / cost), _CHUNK_GROWTH * chunk), 1) if cost else chunk
            target = min(self.step + chunk, until)
            for lane in self.lanes:
                lane.advance(target)

    def advance_to_event(self, kind: str, seconds: float) -> str | None:
        """Run all lanes step by step until one has an event; return it in words, or None if the time is over."""
        deadline = time.perf_counter() + seconds
        while not self.finished and time.perf_counter() < deadline:
            target, found = self.step + 1, []
            for lane in self.lanes:
                event = lane.advance_to_event(kind, target)
                if event is not None:
                    found.append(f"Lane {lane.index + 1}: {event.text} at step {event.step}.")
            if found:
                return " ".join(found)
        return None

    def frames(self) -> list[bytes]:
        """Return the current frame of every lane."""
        return [lane.frame() for lane in self.lanes]

    def frames_at(self, step: int) -> list[bytes] | None:
        """Return the latest frames in the histories that all lanes have at the same step, at most the given one."""
        while step >= 0:
            frames = [lane.history.at(step) for lane in self.lanes]
            found = [frame for frame in frames if frame is not None]
            if len(found) < len(frames):
                return None
            steps = [step_of(frame) for frame in found]
            if min(steps) == max(steps):
                return found
            step = min(steps)
        return None

    def news(self) -> dict[str, Any]:
        """Return the points of the curves and the events since the last call."""
        news = []
        for i, lane in enumerate(self.lanes):
            points = lane.curves.points(self._sent_points[i])
            events = lane.events[self._sent_events[i] :]
            news.append({
                "first": self._sent_points[i],
                "points": points,
                "events": [{"step": event.step, "state": event.state, "text": event.text} for event in events],
            })  # fmt: skip
            self._sent_points[i] += len(points)
            self._sent_events[i] += len(events)
        return {"step": self.step, "finished": self.finished, "lanes": news}


def describe_lane(lane: Lane) -> dict[str, Any]:
    """Return the settings of a lane that a page shows, and the distance between the points of its curves."""
    settings, explorer = lane.session.settings, lane.session.agent.configured_explorer
    visitation = explorer.extra_tables().visitation
    return {
        "explorer": lane.session.agent.explorer,
        "preset": lane.run.preset,
        "every": lane.curves.every,
        "length": lane.length,
        "evaluateEvery": settings.evaluate_every,
        "minimises": visitation is not None and bool(visitation.minimise),
        # By a rule of its own: not greedy by score, and not ε-greedy.
        "drawsAction": has_own_choice(explorer_class(lane.session.agent.explorer)) and not hasattr(explorer, "decay"),
        "settings": {
            "initial": settings.initial,
            "replay": settings.replay.memory,
            "learning_rate": settings.learning_rate,
            "discount": settings.discount,
            "horizon": settings.horizon,
        },
        "fields": {
            "epsilon_start": settings.epsilon_start,
            "epsilon_end": settings.epsilon_end,
            **finite_values({name: float(value) for name, value in explorer._asdict().items()}),
        },
    }
