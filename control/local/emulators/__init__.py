"""Emulators of services that are not ours, each as a server of the local stack, for tests and the demo.

None of them is the service: whatever shows results says so.

    bigquery              bqemulator, in an environment of its own
    redshift              a front before a PostgreSQL, and moto for S3, as a server of the stack
    redshift_server       the process of both
    redshift_front        what the front rewrites
    snowflake             fakesnow's server, as a server of the stack
    snowflake_server      the process, with what fakesnow does otherwise than Snowflake put right
    spanner               Google's own, which is installed with Google's command line
"""
