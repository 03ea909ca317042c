"""The composite: the local store with a durable primary over it; nothing is lost while the primary is away."""
