"""The Neo4j backend: memories in a graph that a team shares."""
