"""Bridges to other people's formats and programs."""
