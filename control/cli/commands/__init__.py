"""The verbs: each reads its arguments, calls one service, and prints.

delete_command, status_command, tables_command, worker_command     one verb each
letters_commands, offsets_commands, rest_commands, snapshot_commands,
spark_commands, table_commands                                     a group of verbs each
rest_flags     the flags of `wrackline worker` for REST
explain        error codes, findings and settings, looked up by name
doctor         what this machine has of what Wrackline needs
"""
