"""The whole product on this machine, from nothing: `./run demo`.

shop -> wrackline worker -> Kafka -> wrackline worker -> Iceberg, or an emulator of a warehouse

The shop is in PostgreSQL, in MariaDB, or in a stand-in for SQL Server.

command           arguments, the summary, the exit code
story             a live workload, a schema change, a crash, and the comparison at the end
demo_screen       the live picture
folder            the demo's folder
paste_lines       commands to paste into another terminal
terminal_picture  draws the end of a demo for a page
warehouse_query   a query over the finished warehouse
standin_query     a statement for the stand-in
parts/, shops/    what runs; the shop on each database
warehouses/       where the copy lies, for each target
"""
