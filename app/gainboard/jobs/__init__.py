"""Work that takes longer than a request. A job is one analysis; a report is the tables and figures of a paper.

A kind is one file, in `jobs` or `reports`. `orders` turns a request for a job into a job, `outlines` a request for a
report into a report. `seen` decides who may see, list and cancel them. `worker` is what a process does with a chunk: it
computes a part, puts a result together, or does a chore (`chores`), which makes the exhibits of results.
"""
