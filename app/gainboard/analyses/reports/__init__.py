"""The kinds of reports, one file each: a paper's own tables and figures, laid out from the results of jobs."""
