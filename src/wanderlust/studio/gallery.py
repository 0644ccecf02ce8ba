"""Six small worlds, each made to teach one thing about exploration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TeachingWorld:
    """A text map, and what a class can see in it."""

    name: str
    title: str
    explanation: str
    map: str


GALLERY = (
    TeachingWorld(
        name="distractor",
        title="Distractor",
        explanation=(
            "The small treasure is three steps away, the large one in the far corner. An explorer that stops "
            "exploring at the first reward never sees the second."
        ),
        map="""\
S......
.......
..A....
.......
.......
......B

A = treasure 1
B = treasure 10
horizon = 18
budget = 3000
""",
    ),
    TeachingWorld(
        name="corridor-of-costs",
        title="Corridor of costs",
        explanation=(
            "Every step in the corridor costs a little, and only its end pays. An explorer that follows Q turns back "
            "after the first costs; W leads it to the end."
        ),
        map="""\
A............
.............
ScccccccccccB
.............
A............

A = treasure 1
B = treasure 5 enter right
c = puddle -0.02 enter left right
horizon = 40
budget = 6000
""",
    ),
    TeachingWorld(
        name="trap",
        title="Prison",
        explanation=(
            "An action in the prison P moves the agent only once in fifty times, and the large treasure is behind it. "
            "The agent must find the way around; each visit to the prison costs the rest of the episode."
        ),
        map="""\
S.....
......
.A.P..
##PP..
...P..
...PPB

A = treasure 1
B = treasure 5
step = -0.01
escape = 0.02
horizon = 24
budget = 4000
""",
    ),
    TeachingWorld(
        name="bottleneck",
        title="Bottleneck",
        explanation=(
            "One door joins two rooms. A random walk finds the door rarely and loses it again; W is large at the door "
            "as long as the room behind it is not explored."
        ),
        map="""\
......#......
......#......
......#......
..S..........
......#......
......#......
......#.....A

A = treasure 1
horizon = 40
budget = 6000
""",
    ),
    TeachingWorld(
        name="two-rooms-and-a-key",
        title="Two rooms and a key",
        explanation=(
            "The state is the position and whether the agent has the key. The left half shows the rooms without the "
            "key, the right half the same rooms with it: the one-way cell k is the key, and only with it the door "
            "to the treasure is open."
        ),
        map="""\
S....#...##.....#...
.....#...##.....#...
.....#...##.....#..B
.....#...##.....d...
..A..#...##.....#...
.....####k......#...
.........k......#...

A = treasure 1
B = treasure 10
k = floor enter right
d = floor enter right
horizon = 60
budget = 12000
""",
    ),
    TeachingWorld(
        name="loop",
        title="Loop",
        explanation=(
            "The ring can be walked in one direction only, so an exit that was missed costs a whole round. The first "
            "exit leads to a small treasure, the exit on the far side to the large one."
        ),
        map="""\
..A.........
#.##########
S>>>>>>>>>>>
^##########v
^##########v
<<<<<<<<<<<v
#####.######
....B.......

A = treasure 1
B = treasure 10
> = floor enter right
< = floor enter left
^ = floor enter up
v = floor enter down
horizon = 60
budget = 10000
""",
    ),
)
