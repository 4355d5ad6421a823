"""Background work: a small queue in the store.

An item of work has an owner, a due time and a lease. It is written with its turn, in the same batch, so that neither
exists without the other. Equal work is one item, and asking again moves its due time (debounce). A worker claims an
item by a compare-and-set and renews the lease while it is at work; the lease of a dead worker runs out, and the next
one takes the work over. Any number of processes may run a worker.

The queue needs LangGraph's store interface only, so that it is the same on every store.
"""
