// The same of all others, so that they never take the places of active ones in an answer.
CREATE FULLTEXT INDEX inactive_text IF NOT EXISTS FOR (m:Superseded|Forgotten|Expired) ON EACH [m.terms, m.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: true}}
