"""What reports are laid out with: tables and figures under a paper's numbers, averages over collections, marks."""
