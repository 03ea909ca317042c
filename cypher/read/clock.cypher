// The server's time. Returns clock: milliseconds since 1970.
RETURN timestamp() AS clock
