// Take nodes that somebody made by hand out of the store: they keep all that is written on them, under the label SetAside.
// $elements (ids of nodes). Returns mended.
UNWIND $elements AS element
CALL (element) {
  MATCH (m) WHERE elementId(m) = element
  CALL (m) {
    MATCH (m)-[e:CURRENT|LATEST|PAST|SUPERSEDES|RESTORES]-()
    WHERE NOT (e:SUPERSEDES AND coalesce(e.via, '') <> 'key')
    DELETE e
  }
  REMOVE m:Memory:Active:Superseded:Forgotten:Expired
  SET m:SetAside
  RETURN count(*) AS done
}
RETURN sum(done) AS mended
