"""A SQLite file: its tables, its handles, group commit, repair."""
