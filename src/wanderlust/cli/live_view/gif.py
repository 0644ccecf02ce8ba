"""A run as an animated GIF: the visits and the exploration values of every state, as in the live view."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from wanderlust.cli.live_view.canvas import cell_colors
from wanderlust.cli.live_view.frame import FrameRenderer
from wanderlust.cli.live_view.run import Snapshot, WatchedRun
from wanderlust.core.files import cannot_write
from wanderlust.worlds.base import CellKind
from wanderlust.worlds.raster import Renderer

FRAMES = 100
_FRAME_MS, _LAST_FRAME_MS = 80, 2_000
_PANEL = 320
"""The largest width and height of a map, in pixels."""
_GAP, _LINE, _FONT = 16, 18, 13
_TEXT, _BACKGROUND = "#2b2f38", "#ffffff"


def write_gif(run: WatchedRun, renderer: FrameRenderer, path: Path) -> int:
    """Run to the end and write frames at regular steps; return their number."""
    maps = Renderer(renderer.layout, _PANEL)
    frames = [_image(renderer, maps, run.snapshot())]
    n_frames = min(FRAMES, run.length)
    for i in range(1, n_frames + 1):
        while run.step < run.length * i // n_frames:
            run.advance()
        frames.append(_image(renderer, maps, run.snapshot()))
    durations = [_FRAME_MS] * (len(frames) - 1) + [_LAST_FRAME_MS]
    try:
        frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    except OSError as error:
        raise cannot_write(path, error) from error
    return len(frames)


def _image(renderer: FrameRenderer, maps: Renderer, snapshot: Snapshot) -> Image.Image:
    """Return one frame: a title, two maps with headings, and the status."""
    layout, cell = renderer.layout, maps.cell
    width, height = max(layout.columns * cell, _PANEL * 3 // 4), layout.rows * cell
    status = [", ".join(snapshot.status[:3]), ", ".join(snapshot.status[3:])]
    image = Image.new("RGB", (2 * width + 3 * _GAP, height + (3 + len(status)) * _LINE + _GAP), _BACKGROUND)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(_FONT)
    draw.text((_GAP, _LINE // 2), renderer.heading(snapshot), fill=_TEXT, font=font)
    for i, heatmap in enumerate(renderer.heatmaps(snapshot)):
        left, top = _GAP + i * (width + _GAP), 2 * _LINE + _LINE // 2
        draw.text((left, top - _LINE), heatmap.heading, fill=_TEXT, font=font)
        is_wall = layout.kind[int(layout.layer[snapshot.state])] == CellKind.WALL
        colors = cell_colors(heatmap.intensity, is_wall, heatmap.palette)
        image.paste(maps.grid(snapshot.state, colors, lines=False), (left, top))
    for i, line in enumerate(status):
        draw.text((_GAP, 2 * _LINE + height + _GAP + i * _LINE), line, fill=_TEXT, font=font)
    return image
