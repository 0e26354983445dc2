"""Work that takes longer than a request. A job is one analysis; a report is the tables and figures of a paper.

A kind is one file, in `analyses` or `analyses/reports`. `submission` turns a request into a job, and `report_planning`
one into a report. `access` decides who may see, list and cancel them. `worker` is what a process does with a chunk: it
computes a part, puts a result together, or makes files from a result that is there (`derived_files`).
"""
