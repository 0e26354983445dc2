"""The layout of reports: tables and figures under a paper's numbers, averages over collections, marks."""
