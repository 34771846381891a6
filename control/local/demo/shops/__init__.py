"""The demo's shop on each database that it can use.

shop                the protocol; nothing outside this folder depends on which database it is
postgres, mariadb   one shop each
standin             a shop on a stand-in for SQL Server
known               the shops by name
workload            orders, and changes at a steady pace
"""
