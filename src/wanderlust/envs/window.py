"""A window that shows pictures: the render mode "human"."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidSetting


class Window:
    """Opens with its first picture, and takes as much time for each as its rate demands."""

    def __init__(self, title: str, pictures_per_second: int) -> None:
        self.title = title
        self.pictures_per_second = pictures_per_second
        self._surface: Any = None
        self._clock: Any = None
        _pygame()

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture [row, column, colour]."""
        pygame = _pygame()
        size = picture.shape[1], picture.shape[0]
        if self._surface is None:
            pygame.display.init()
            pygame.display.set_caption(f"wanderlust: {self.title}")
            self._surface = pygame.display.set_mode(size)
            self._clock = pygame.time.Clock()
        self._surface.blit(pygame.image.frombuffer(picture.tobytes(), size, "RGB"), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self.pictures_per_second)

    def close(self) -> None:
        """Close the window; showing another picture opens it again."""
        if self._surface is not None:
            _pygame().display.quit()
            self._surface = self._clock = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy has no window of its own until it shows something.
        return {**self.__dict__, "_surface": None, "_clock": None}


def _pygame() -> Any:
    try:
        return importlib.import_module("pygame")
    except ImportError:
        raise InvalidSetting(
            "render_mode='human' needs pygame, which is not installed: pip install 'wanderlust[human]', "
            "or choose render_mode='rgb_array' or 'ansi'."
        ) from None
