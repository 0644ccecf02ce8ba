"""The window of the render mode "human"."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidSetting


class Window:
    """A window that opens with the first frame and limits the frame rate."""

    def __init__(self, title: str, fps: int) -> None:
        self.title = title
        self.fps = fps
        self._surface: Any = None
        self._clock: Any = None
        _pygame()

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Show a frame [row, column, colour]."""
        pygame = _pygame()
        size = frame.shape[1], frame.shape[0]
        if self._surface is None:
            pygame.display.init()
            pygame.display.set_caption(f"wanderlust: {self.title}")
            self._surface = pygame.display.set_mode(size)
            self._clock = pygame.time.Clock()
        self._surface.blit(pygame.image.frombuffer(frame.tobytes(), size, "RGB"), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self.fps)

    def close(self) -> None:
        """Close the window; the next frame opens it again."""
        if self._surface is not None:
            _pygame().display.quit()
            self._surface = self._clock = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy opens its own window with its first frame.
        return {**self.__dict__, "_surface": None, "_clock": None}


def _pygame() -> Any:
    try:
        return importlib.import_module("pygame")
    except ImportError:
        raise InvalidSetting(
            "render_mode='human' needs pygame, which is not installed: pip install 'wanderlust[human]', "
            "or choose render_mode='rgb_array' or 'ansi'."
        ) from None
