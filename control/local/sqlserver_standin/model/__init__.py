"""A deterministic model of databases with change data capture; nothing here knows TDS or T-SQL.

log_numbers     LSNs
ordering        how values compare
tables          rows with versions and locks
transactions    what a transaction writes, and its log records
capture         the capture job, its change tables and the clean-up
database        a database and what an administrator does with it
server          databases, users, time, planned faults
relations       tables and change tables as what a query reads
catalogue       system tables
system_columns  the columns of system tables
driver_catalogue  what drivers ask for by procedures
type_numbers    types as system tables describe them
"""
