"""trec_eval's own program."""
