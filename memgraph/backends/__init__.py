"""One room for each place where memories can live; `base` says what they all promise."""
