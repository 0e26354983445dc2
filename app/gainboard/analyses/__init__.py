"""The analyses of the papers, on score matrices of stored runs: one file for each kind of job or report."""
