"""The kinds of jobs, one file each. Importing one enters it into the catalogue."""
