// The index of vectors, made when a namespace is first searched that is too large to compare all of its own: before, it would only make
// writes slower. Without a dimension in its options it takes vectors of any, each compared with those of its own size. Returns nothing.
CREATE VECTOR INDEX memory_vectors IF NOT EXISTS FOR (m:Memory) ON (m.embedding)
