"""Text made of values: what people look at."""
