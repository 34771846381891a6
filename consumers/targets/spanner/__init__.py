"""Spanner: a batch is mutations in read-write transactions, each of which looks at the state and moves it.

No pipeline can choose it yet.

    config, connect   what can be set; the client's database
    types             what each kind of value is there, and what a mutation carries of it
    rows, chunks      which rows of a batch write what; how many a commit takes
    commits           one commit after the other, and what is kept about tables
    texts             tables, views and questions, in SQL
    session           transactions, reads, changes of schema
    target            the promises of the contract
    letters, upkeep   dead letters; forgets old tombstones
    refusals, check   what it refuses; findings of the preflight check
"""
