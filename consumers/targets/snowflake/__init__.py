"""Snowflake: a batch is one Parquet file, one PUT, one COPY, and one transaction with a MERGE.

No pipeline can choose it yet.

    types      what each kind of value is there
    dialect    its SQL, as a value; how tables are made
    limits     what it holds no value of, as data
    connect    the driver's connections, by a key pair
    session    a conversation: statements, transactions, loads
    service    its catalogue
    refusals   what it refuses
    config     what can be set
"""
