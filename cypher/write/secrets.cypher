// The secrets that tombstone hashes are keyed with; the first by name makes new ones. Returns name and value.
MATCH (s:Secret) USING INDEX SEEK s:Secret(name) WHERE s.name >= ''
RETURN s.name AS name, s.value AS value ORDER BY name
