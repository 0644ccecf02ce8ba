"""A user-defined explorer: ε-greedy with an ε that decays with the visits of the state."""

from typing import Annotated, NamedTuple

import wanderlust as wl
from wanderlust import bernoulli, check_number, greedy_action, random_action


@wl.register_explorer("fading-example")
class Fading(NamedTuple):
    """ε-greedy with ε = h / (h + n(s)), where n(s) is the number of visits of the state."""

    half_life: float

    @classmethod
    def configure(cls, problem, *, half_life: Annotated[float, "h, the visits after which ε is 1/2."] = 10.0):
        """Check the option."""
        return cls(check_number("half_life", half_life, low=0, open_low=True))

    def choose(self, view, scores, random):
        """Return a random action with probability ε, otherwise the greedy one."""
        if bernoulli(random, self.half_life / (self.half_life + view.total())):
            return random_action(random, view.n_actions)
        self.score(view, scores)
        return greedy_action(scores, random)


if __name__ == "__main__":
    for half_life in (1, 100):
        agent = wl.learn("wanderlust/Toy-v0", Fading, half_life=half_life, steps=2_000, seed=1, quiet=True)
        returns = wl.evaluate(agent, episodes=1)
        print(f"half-life {half_life:>3}: discovered {agent.discovered} of 25 states, return {returns[0]:g}")
