"""The command line; it sees only Memory."""
