"""The papers' own tables and figures, laid out from the results of jobs."""
