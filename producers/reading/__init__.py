"""Existing rows beside the log: the snapshot machine's threads, its requests and its receipts.

In: batches of a stream, requests from signals, and what Kafka has committed.  Out: slices of rows, put
between two transactions of the log; and the receipts of requests.

    interleave.py       feeds machine and cutter, and puts released rows between transactions
    readers.py          the threads that plan and read
    key_ranges.py       cuts a table into ranges of its key
    shared_budget.py    turns of readers and bytes of windows, of all databases of a task
    whole_reads.py      the open read of a table without a key
    release_budget.py   how many bytes of rows may wait for Kafka
    request_intake.py   requests as they come in
    resting_channel.py  their channel, closed while nothing is there
    signal_requests.py  a signal into a request to the machine
    receipt_records.py  receipts of requests as records
    resume_state.py     what a source partition resumes from
"""
