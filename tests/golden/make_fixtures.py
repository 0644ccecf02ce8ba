"""Pack the recorded runs of the original authors' code into the small files that the tests read.

    python make_fixtures.py FOLDER_WITH_RECORDINGS

Nothing is rounded: keys that no test needs are left out, small integers are stored as such, and the rest is
compressed as one piece, since much of it repeats (one step's next state is the next step's state).
"""

from __future__ import annotations

import io
import lzma
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

NOT_NEEDED = frozenset(
    {"mb_idx", "cpu", "suite", "env", "alg", "seed", "totstates", "probT", "P", "Rsa"}
    | {"J_step", "Vt_STAR", "VC_per_state_every100"}
)
STATES = frozenset(("s", "sn", "VC_history"))
PER_STEP = frozenset(("s", "a", "r", "sn", "done", "VC_history", "head", "mb_mask_packed"))
PER_CHECKPOINT = frozenset(("ck_steps", "VCA_ck", "QB_ck", "QT_ck", "VVA_ck"))
PER_EVALUATION = frozenset(("J_history", "J_lo", "J_hi"))
EVALUATE_EVERY = 50

Arrays = dict[str, NDArray]


def cut(arrays: Arrays, steps: int) -> Arrays:
    """Return the first steps of a recording whose returns were taken every 50 steps."""
    checkpoints = int((arrays["ck_steps"] <= steps).sum())
    evaluations = 1 + steps // EVALUATE_EVERY
    lengths = (
        dict.fromkeys(PER_STEP, steps)
        | dict.fromkeys(PER_CHECKPOINT, checkpoints)
        | dict.fromkeys(PER_EVALUATION, evaluations)
    )
    return {key: array[: lengths[key]] if key in lengths else array for key, array in arrays.items()}


def pack(recording: Path, folder: Path) -> int:
    """Write the packed form of one recording; return its size."""
    with np.load(recording) as file:
        arrays = {key: file[key] for key in file.files if key not in NOT_NEEDED}
    for key in STATES & arrays.keys():
        assert arrays[key].max() < 256
        arrays[key] = arrays[key].astype(np.uint8)
    if "_finite_" in recording.name:
        # Once its memory is full, the authors' code learns from slots that were overwritten meanwhile.
        arrays = cut(arrays, 20 * int(arrays["maxsteps"]))
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    content = lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME)
    (folder / f"{recording.stem}.npz.xz").write_bytes(content)
    return len(content)


def main() -> None:
    source, folder = Path(sys.argv[1]), Path(__file__).parent
    recordings = [path for path in sorted(source.glob("*.npz")) if not path.name.startswith("env_")]
    total = sum(pack(recording, folder) for recording in recordings)
    print(f"{len(recordings)} recordings, {total} bytes")


if __name__ == "__main__":
    main()
