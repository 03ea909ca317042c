// The state of every index. Returns name and state.
SHOW INDEXES YIELD name, state
RETURN name, state
