"""Work that takes longer than a request. A job is one analysis, a report the tables and figures of a paper.

A kind is one file, in `jobs` or `reports`. `orders` says what asking for a job comes to, `outlines` what asking for a
report does; `seen` who sees, lists and cancels either. `worker` is what a process does with a chunk: it computes a
part, puts a result together, or does a chore (`chores`), which makes what is shown of results.
"""
