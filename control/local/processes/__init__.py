"""A server as a child process that ends with the process that started it.

process   start, wait until ready, stop, kill, pause, resume
launch    becomes the server, and leaves a watcher behind
ports     chooses a server's ports once
account   an unprivileged user for servers that refuse to run as root
"""
