"""Which change tables are read, up to where, and whether they still have all rows.

capture_instances  what the catalogue says about captured tables, and its statements
instance_tracker   tables that come, go, or get another shape
handover           from one capture instance of a table to the next
rotation           a new capture instance after new columns
continuity         whether the log continues where we stopped
"""
