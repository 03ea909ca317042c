"""What an administrator does to a whole store."""
