"""The network side: sockets, TLS, and a thread for each client.

listener    the server that a test or the demo starts
connection  a client's connection
identity    who a client is
calls       procedure calls
answer      tokens as packets
transport   bytes, with or without TLS
"""
