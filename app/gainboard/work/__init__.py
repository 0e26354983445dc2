"""Work that takes longer than a request. A job is one analysis, a report the tables and figures of a paper.

A kind is one file, in `jobs` or `reports`. `orders` says what asking for a job comes to, `outlines` what asking for a
report does, `worker` what a process does with a chunk of a job, and `seen_jobs` and `seen_reports` who sees what.
"""
