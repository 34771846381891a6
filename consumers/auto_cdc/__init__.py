"""Change feeds that no worker of ours wrote, by the argument names of Spark's and Databricks' AUTO CDC."""
