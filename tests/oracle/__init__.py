"""A slow, literal implementation of the algorithms in the paper's appendix, with which the fast code is compared.

The memory is a Python list of transitions (s, a, r, s', terminal), and every step iterates over all of it. Tables are
lists of lists, indexed by the states of the world. Equations are in the paper's notation, and random numbers are
computed with Python integers. Only worlds and settings are shared with the package, so an error in one implementation
makes the two differ.

* `random_stream`: random numbers and random tie-breaking.
* `memory`: the list of transitions, its sweeps and its minibatches.
* `learning`: the TD update, and Algorithm 1 with its variants without memory and with minibatches.
* `explorers`: the behaviour policies, and what Algorithms 2 to 5 add to Algorithm 1.
* `field`: explorers of other papers.
* `run`: the loop over episodes, and the evaluation of the greedy policy.

If the paper does not fix an order of summation, the docstring does: the order changes the last bit of a value, and the
last bit decides ties and thus the trajectory.
"""

from oracle.run import SlowRecord, train_slowly

__all__ = ["SlowRecord", "train_slowly"]
