"""What runs in the demo beside the shop.

parts            starts everything
demo_pipeline    the pipeline's file
worker_process   the worker
lake, lake_reader   the reader of the warehouse, from outside and inside its process
event_counter    counts the events of a topic
comparison       compares source and warehouse, value for value
"""
