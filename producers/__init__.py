"""Database to Kafka: source workers that read a database's log and its existing rows.

Rooms, from the contract up:

    contract   what a source promises, and the steps and chunks that it hands out
    rows       makes rows into events and records
    kit        what sources have in common
    sources    one folder for each database
    cutting    makes a log's steps into what one Kafka transaction carries
    snapshot   the pure machine that decides which existing rows are read, and when they go out
    reading    existing rows beside the log: readers, requests, receipts
    kafka      publishing exactly once
    task       the loop that connects all of it, one task for each pipeline
    observe    metrics and status
    connect    the processes that tasks run in

    failpoints.py  places where a test makes the process die, wait or fail
"""
