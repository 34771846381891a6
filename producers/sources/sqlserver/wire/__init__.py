"""The wire of SQL Server: TDS, from the first byte of a connection to the rows of an answer.

login           the address of the server and our login; a session that is ready
access_token    the token of a login: a file that is read again each time
integrated_login  NTLM and Kerberos
driver          python-tds, where it is called
certificates    whether a certificate is the server's, and TLS over a socket
session         one connection: a statement at a time, its answer as rows or as batches
messages        what we send, and the small tokens of an answer
message_bytes   a message's packets as one buffer (compiled)
token_reader    rows in that buffer, and all other tokens (compiled)
result_columns  a result's columns, and how their cells are found
"""
