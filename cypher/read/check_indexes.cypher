// Every index, those of constraints included. Returns name, type, state and done (percent of what is to be indexed).
SHOW INDEXES YIELD name, type, state, populationPercent
RETURN name, type, state, populationPercent AS done
