"""The slow twin: the paper's algorithms as its appendix prints them, for the fast code to be compared with.

The memory is a Python list of transitions (s, a, r, s', terminal) that every step goes through from one end
to the other. Tables are lists of lists, indexed by the world's own numbers of states. Every equation is
written here a second time, in the paper's letters, and random numbers are whole Python numbers: nothing is
shared with the package but its worlds and its settings. What the two agree on to the last bit was therefore
worked out twice.

* `chance`: random numbers, and choosing among equals.
* `memory`: the list of transitions, and what a sweep or a minibatch takes from it.
* `learning`: the TD rule, and Algorithm 1 with its no-memory and minibatch variants.
* `explorers`: the behaviour policies, and what Algorithms 2 to 5 add to Algorithm 1.
* `run`: the loop over episodes, and the evaluation of the greedy policy.

Where the text leaves an order of summation open, the docstring says which it is: the order decides the last
bit, the last bit decides ties, and ties decide where the agent goes.
"""

from oracle.run import SlowRecord, train_slowly

__all__ = ["SlowRecord", "train_slowly"]
