// Words and scope tokens of active memories; both are made by the client, so the index only splits at blanks.
CREATE FULLTEXT INDEX active_text IF NOT EXISTS FOR (m:Active) ON EACH [m.terms, m.scope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: true}}
