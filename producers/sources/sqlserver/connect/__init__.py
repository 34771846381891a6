"""What every statement needs.

quoting        names and texts as T-SQL writes them
server_errors  the numbers of the server's errors, and who acts on each
"""
