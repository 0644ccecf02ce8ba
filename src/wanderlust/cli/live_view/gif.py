"""A run as an animated GIF: the visits and the exploration values of every state, as in the live view."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from wanderlust.cli.live_view.canvas import cell_colours
from wanderlust.cli.live_view.frame import FrameRenderer, Heatmap
from wanderlust.cli.live_view.run import Snapshot, WatchedRun
from wanderlust.core.files import cannot_write
from wanderlust.worlds.base import CellKind
from wanderlust.worlds.drawing import letters

FRAMES = 100
_FRAME_MS, _LAST_FRAME_MS = 80, 2_000
_PANEL = 320
"""The largest width and height of a map, in pixels."""
_GAP, _LINE, _FONT = 16, 18, 13
_TEXT, _BACKGROUND, _AGENT = "#2b2f38", "#ffffff", "#ff3d8b"


def write_gif(run: WatchedRun, renderer: FrameRenderer, path: Path) -> int:
    """Run to the end and write frames at regular steps; return their number."""
    frames = [_image(renderer, run.snapshot())]
    n_frames = min(FRAMES, run.length)
    for i in range(1, n_frames + 1):
        while run.step < run.length * i // n_frames:
            run.advance()
        frames.append(_image(renderer, run.snapshot()))
    durations = [_FRAME_MS] * (len(frames) - 1) + [_LAST_FRAME_MS]
    try:
        frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    except OSError as error:
        raise cannot_write(path, error) from error
    return len(frames)


def _image(renderer: FrameRenderer, snapshot: Snapshot) -> Image.Image:
    """Return one frame: a title, two maps with headings, and the status."""
    layout = renderer.layout
    cell = max(_PANEL // max(layout.rows, layout.columns), 1)
    width, height = max(layout.columns * cell, _PANEL * 3 // 4), layout.rows * cell
    status = [", ".join(snapshot.status[:3]), ", ".join(snapshot.status[3:])]
    image = Image.new("RGB", (2 * width + 3 * _GAP, height + (3 + len(status)) * _LINE + _GAP), _BACKGROUND)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(_FONT)
    draw.text((_GAP, _LINE // 2), renderer.heading(snapshot), fill=_TEXT, font=font)
    for i, heatmap in enumerate(renderer.heatmaps(snapshot)):
        left, top = _GAP + i * (width + _GAP), 2 * _LINE + _LINE // 2
        draw.text((left, top - _LINE), heatmap.heading, fill=_TEXT, font=font)
        image.paste(_map(renderer, heatmap, snapshot, cell), (left, top))
    for i, line in enumerate(status):
        draw.text((_GAP, 2 * _LINE + height + _GAP + i * _LINE), line, fill=_TEXT, font=font)
    return image


def _map(renderer: FrameRenderer, heatmap: Heatmap, snapshot: Snapshot, cell: int) -> Image.Image:
    """Return the coloured cells of a map with their letters and the agent."""
    layout, layer = renderer.layout, int(renderer.layout.layer[snapshot.state])
    kinds = layout.kind[layer]
    colours = cell_colours(heatmap.intensity, kinds == CellKind.WALL, heatmap.palette)
    image = Image.fromarray(colours.repeat(cell, axis=0).repeat(cell, axis=1))
    draw = ImageDraw.Draw(image)
    if cell >= 12:
        drawn, font = letters(layout, layer)[0], ImageFont.load_default(0.5 * cell)
        for row, column in np.argwhere(~np.isin(kinds, (CellKind.FLOOR, CellKind.WALL))):
            is_dark = float(colours[row, column] @ np.array([0.299, 0.587, 0.114])) < 120
            centre = (column + 0.5) * cell, (row + 0.5) * cell
            draw.text(centre, str(drawn[row, column]), "white" if is_dark else _TEXT, font, anchor="mm")
    row, column, margin = int(layout.row[snapshot.state]), int(layout.column[snapshot.state]), 0.2 * cell
    corners = (column * cell + margin, row * cell + margin, (column + 1) * cell - margin, (row + 1) * cell - margin)
    draw.ellipse(corners, fill=_AGENT, outline="white")
    return image
