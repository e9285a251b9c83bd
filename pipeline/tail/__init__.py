"""A run over one interval of a log that goes on: which sessions it judges, and what it takes over and hands on.

A session that the interval's end cuts through is judged by the run in whose interval it ends, whole; one that late
events join is judged anew. What that needs is handed from a release to the next run as its *tail*:

<release>/tail/open-*.parquet     turns of sessions that were still open at the interval's end; judged by no release yet
<release>/tail/recent-*.parquet   turns of sessions that were judged, and that late events may yet join
<release>/tail_gold/*.parquet     labels of both
"""
