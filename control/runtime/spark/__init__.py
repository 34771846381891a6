"""Spark for a pipeline: its Java, its jars, its session, and targets that may need it.

In: a pipeline's settings.  Out: a session or an open target, until the block is left.

    java            finds a Java that fits
    cache           the folder of downloaded files, filled once
    jars            downloads jars from Maven Central and checks their hashes
    spark_session   a session of our own, of spark-submit, or of Spark Connect
    target_access   a target without a batch; starts Spark only if the target needs it
"""
