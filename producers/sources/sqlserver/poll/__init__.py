"""Reads change tables again and again, one round trip each time.

following      which tables are read, from which of their instances
round_reader   one round trip: pages, what proves that nothing is missing, the next commits
capture_watch  why a quiet log is quiet
rotator        new capture instances, where the settings say so
log_fetcher    the thread that does it, and what waits for the stream

news_watch         which of several databases have news, in one round trip
catalogue_digests  in which of them the catalogue has changed, and whether somebody captures
"""
