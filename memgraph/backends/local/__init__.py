"""Memories in a file of this machine, with a live graph and a text index over it."""
