"""Change feeds that no worker of ours wrote, by the argument names of Spark's and Databricks' AUTO CDC.

In: a feed's topic, a view that makes columns of its records, and a flow.  Out: the feed's changes in a table,
each batch exactly once.

    flows          the views and flows of one pipeline
    flow           the arguments of one flow
    flow_batch     one batch of one flow
    feed_changes   a feed's frame as typed changes
    feed_sequence  the order of events as a text
    feed_shape     a feed's columns as the shape of a table
    bad_records    which records of a feed its view cannot read; pure
    flow_replay    tries a feed's dead letters again
"""
