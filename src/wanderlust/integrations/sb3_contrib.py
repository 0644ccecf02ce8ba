"""SB3-Contrib's QR-DQN with an explorer that chooses the actions; see `wanderlust.integrations.stable_baselines3`."""

from __future__ import annotations

from typing import Any

from wanderlust.core.errors import MissingPackage
from wanderlust.integrations.stable_baselines3 import VisitationMixin

try:
    from sb3_contrib import QRDQN
except ImportError as error:
    raise MissingPackage("VisitationQRDQN needs SB3-Contrib: pip install 'wanderlust[sb3]'.") from error


class VisitationQRDQN(VisitationMixin, QRDQN):
    """QR-DQN that acts by Q + κU, where Q is the mean of the quantiles."""

    def q_values(self, observation: Any) -> Any:
        """Return Q of every action, [environment, action]."""
        return self.quantile_net(observation).mean(dim=1)
