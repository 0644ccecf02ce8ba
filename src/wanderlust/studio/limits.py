"""The limits of what a page can ask for. Every message of a page is checked against them."""

from __future__ import annotations

MAX_LANES = 3
MAX_SIDE = 100
"""The maximum number of rows and of columns of a map."""
MAX_STATES = 10_000
MAX_DEPTH = 70
"""Of deep sea, which has two states per cell."""
MAX_STEPS = 1_000_000
"""The maximum length of a run."""
MAX_SEED = 2**31 - 1
MAX_HEADS = 50
MAX_BATCH = 65_536
MAX_TABLE_VALUES = 4_000_000
"""The maximum number of values in all tables of a lane: 32 MB."""
MAX_POLICY_ENTRIES = 2_500_000
"""The maximum number of greedy actions that a lane stores in a stochastic world: 20 MB."""
MAX_MAP_TEXT = 40_000
"""Characters of a text map."""
MAX_CHANGES = 50
"""Changes of a map during a run."""

MAX_MESSAGE = 128 * 1024
"""Characters of one message."""
MAX_TRANSPORT_MESSAGE = 1024 * 1024
"""Bytes at which the connection is closed instead of answered."""
PATIENCE = 20.0
"""Seconds after which a connection that sends nothing is closed."""
MAX_PAGES = 64
"""Pages connected at the same time."""

HISTORY_BYTES = 6 * 1024 * 1024
"""Of the compressed snapshots of a run, per lane."""
HISTORY_SNAPSHOTS = 256
SERIES_POINTS = 1000
"""The maximum number of points of a curve."""
MAX_LANE_EVENTS = 200
TRAIL = 40
"""The number of states in the trail behind the agent."""

MAX_STORED_RUNS = 20_000
"""Runs of a store that the results view reads."""
