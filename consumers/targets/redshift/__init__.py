"""Redshift: rows come by COPY of Parquet from S3 into a stage, and are merged with their offsets.

No pipeline can choose it yet.

    dialect   its SQL, as a value; how tables are laid out
    types     what each kind of value is there
    limits    what it holds no value of, as data
"""
