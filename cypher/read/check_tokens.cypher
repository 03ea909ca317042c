// What memories of a namespace say, and the index tokens that were made of it, for the doctor. $namespace, $ids.
// Returns id and memory: content, terms, scope, terms_length and terms_flags.
UNWIND $ids AS id
MATCH (m:Memory {namespace: $namespace, id: id}) USING INDEX SEEK m:Memory(namespace, id) WHERE m.version IS NOT NULL
RETURN m.id AS id, m {.content, .terms, .scope, .terms_length, .terms_flags} AS memory
