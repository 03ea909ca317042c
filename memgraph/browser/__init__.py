"""What people need in Neo4j Browser to look at memories: style, guide, favourites, links, and a server for the first three.

Imports nothing but Python's own library, so that a bare Python can serve it: `python -m memgraph.browser`.
"""
