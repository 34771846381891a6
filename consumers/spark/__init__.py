"""The Spark session, and what its SQL lacks.

In: jars, and the settings of a pipeline and of its target.  Out: a session whose values are right: UTC, exact
names, ANSI casts.

    sessions        a session in this process, in a cluster, or under spark-submit
    remote_session  a session by Spark Connect
    casts           values of `from_avro` in the type of their column
    plain_values    values in the form in which they are staged, and which of them are beyond a limit
    folders         a table's folder on a disk, in HDFS or in an object store
    forbidden_path  which folder Java was not allowed to write to, from the text of its error
"""
