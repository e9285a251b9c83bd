"""Which of the pooled examples are released: duplicates, contamination, caps and sampling."""
