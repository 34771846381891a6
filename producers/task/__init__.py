"""A task: all source partitions of one pipeline, from the database to Kafka.

In: typed settings, and the task's identity.  Out: a loop that reads, cuts, publishes and confirms until it is
asked to stop.

    task_loop.py         the loop, and what it does after an error
    lanes.py             the partitions of a session, each for itself
    lane_wait.py         one wait for the logs of all partitions
    partition_run.py     one source partition under way
    partition_opener.py  opens a source partition at its committed position
    task_requests.py     where its requests come from, and what is known of them
    task_observers.py    what a task reports to the parts that keep its status, metrics and log
    assembly.py          makes a task from a pipeline's settings
    retries.py           whether a task that failed is tried again
    task_limits.py       how far it reads ahead, how long it waits; its clocks
    background.py        one call in a thread of its own
    heartbeat_loop.py    makes a source write to its log while nothing else does
    memory_tuning.py     settings of the C library's heap and of Python's garbage collector
"""
