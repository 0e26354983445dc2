"""The notation of values: in texts (queries, options, settings), and in JSON bodies."""
