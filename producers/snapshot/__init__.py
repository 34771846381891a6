"""Existing rows beside the log: the pure machine that decides what is read and when it goes out.

    request -> Plan -> ranges -> Read -> window -> slices between log transactions

No database, no Kafka, no clock, no chance: `machine.py` is told what happened and answers what to do.
"""
