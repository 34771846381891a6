"""Publishing exactly once: transactions, the task's own offsets, topics.

In: publications.  Out: committed Kafka transactions, and what Kafka has when a task starts.

    publisher.py       a task's publisher: one way to start, which is also the only way to recover
    transactor.py      one producer: fence, then transactions
    ownership.py       the owners of a connector's tasks: generations
    takeover.py        how a task takes its databases over from tasks of an earlier deal
    offsets_topic.py   the offsets topic: made, checked and read to its end
    neighbours.py      the positions of other pipelines
    requests_topic.py  the topic of receipts
    signal_topic.py    the topic of signals
    topic_creation.py  topics of tables, made when they are first written to
    topic_deletion.py  topics deleted, and waited for
    client.py          the settings of each kind of Kafka client
    failures.py        what an error of the Kafka client means
    login_check.py     whether a Kafka lets us in
"""
