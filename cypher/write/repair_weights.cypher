// Relations whose weight is no number, or whose note is no text, get the weight 1 or lose the note. $elements (ids of edges).
// Returns mended.
UNWIND $elements AS element
CALL (element) {
  MATCH ()-[r:RELATES_TO]->() WHERE elementId(r) = element
  SET r.weight = CASE WHEN r.weight IS :: INTEGER NOT NULL | FLOAT NOT NULL THEN r.weight ELSE 1.0 END,
      r.note = CASE WHEN r.note IS :: STRING THEN r.note END
  RETURN count(*) AS done
}
RETURN sum(done) AS mended
