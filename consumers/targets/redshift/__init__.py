"""Redshift: rows come by COPY of Parquet from S3 into a stage, and are merged with their offsets.

No pipeline can choose it yet.

    dialect   its SQL, as a value; how tables are laid out
    types     what each kind of value is there
    limits    what it holds no value of, as data
    session   a conversation by the service's own driver; COPY
    service   its catalogue, layout and refusals, for a staged target
    refusals  what an error of the server means
"""
