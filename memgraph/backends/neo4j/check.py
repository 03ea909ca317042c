"""The doctor of the Neo4j store."""
