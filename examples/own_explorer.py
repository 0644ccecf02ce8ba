"""An explorer of your own: greedy, but for a chance of any action that fades as a state becomes known."""

from typing import Annotated, NamedTuple

import wanderlust as wl
from wanderlust.core.errors import check_number
from wanderlust.explorers.choice import bernoulli, greedy_action, random_action


@wl.register_explorer("fading-example")
class Fading(NamedTuple):
    """Greedy, but for a chance of any action that fades as a state becomes known."""

    half_life: float

    @classmethod
    def configure(cls, problem, *, half_life: Annotated[float, "Visits after which the chance is one half."] = 10.0):
        """Check the option."""
        return cls(check_number("half_life", half_life, low=0, open_low=True))

    def choose(self, view, scores, random):
        """Explore with probability h / (h + n(s)), otherwise exploit Q."""
        if bernoulli(random, self.half_life / (self.half_life + view.total())):
            return random_action(random, view.n_actions)
        self.score(view, scores)
        return greedy_action(scores, random)


if __name__ == "__main__":
    for half_life in (1, 100):
        agent = wl.learn("wanderlust/Toy-v0", Fading, half_life=half_life, steps=2_000, seed=1, quiet=True)
        returns = wl.evaluate(agent, episodes=1)
        print(f"half-life {half_life:>3}: found {agent.discovered} of 25 cells, return {returns[0]:g}")
