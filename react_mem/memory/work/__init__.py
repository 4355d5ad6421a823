"""Work behind the turns: a small queue in the store, and the worker that does what is due of it.

An item of work has an owner, a due time and a lease. It is written with the turn that makes it necessary, in the same
batch, so that neither is there without the other. Equal work is one item, and asking again moves its due time
(debounce). A worker claims an item by a compare-and-set and renews the lease while it is at work; the lease of a
worker that died runs out, and the next one takes the work over. Any number of processes may run a worker.

The queue needs nothing but LangGraph's store interface, so that it is the same on every store.
"""
