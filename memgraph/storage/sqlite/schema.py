"""The tables of a store's file, and how an older file becomes a newer one.

memory      one row a memory; `seq` is its integer name in the graph and the change log. A row without `version` is a place:
            something arrived about a memory that has not arrived itself. `doc` numbers memories within their namespace
            in order of arrival; it is their name in the text index and is never used twice.
life        retire, restore and explicit-supersede events. `superseding` is the newer memory of a supersede. The events and
            memories of one change-set share `changeset`.
relation    RELATES_TO, or with gone = 1 the memory that it was taken back.
            SUPERSEDES edges along a key are derived from (ns, key, version) and never stored.
change      the change log: which rows to read again. what: 0 memory a, 1 edges of a, 2 memory a is gone (b = its doc).
unsealed    documents that are not in the text index yet. namespace.docs, .sealed: the next document's number, and how many
            are sealed; .generation moves whenever the sealed part changed.
segment     a run of `n` sealed documents from `doc` on: their lengths and flags for the ranking.
post        the postings of a segment (`doc`), cut into rows by term; `term` is a row's first. Rows are replaced, never changed.
tombstone   what is left of a purge: keyed hashes; `space` is that of the namespace.
outbox      what a primary has not acknowledged yet, in order; rows of one `unit` go together. `a`, `b`: the memories it names.
dead_letter units that the primary refused for good, as they stood in the outbox, and why.
cursor      how far each namespace of the primary was pulled: the number of its feed. -1: all is to be pulled.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from memgraph.errors import StoreCorruptError, StoreVersionError

__all__ = ["APPLICATION_ID", "MIGRATIONS", "SCHEMA_VERSION", "migrate"]

APPLICATION_ID: Final = 0x6D656D67  # "memg"

_V1: Final = """
create table meta(name text primary key, value) without rowid;
create table namespace(
  ns integer primary key autoincrement, path text not null unique,
  docs integer not null default 0, sealed integer not null default 0, generation integer not null default 0);
create table memory(
  seq integer primary key autoincrement, ns integer not null, id text not null, doc integer, version text,
  status integer not null default 0, key text, past integer not null default 0, kind text, subject text, title text,
  tags text, aliases text, metadata text, source text, actor text, session text, trust text, pinned integer, confidence real,
  feedback_count integer not null default 0, feedback_sum real not null default 0,
  valid_from integer, valid_to integer, expires_at integer, reason text,
  restores_id text, restores_version text, embedding_model text, changeset text, content text);
create unique index memory_id on memory(ns, id);
create index memory_key on memory(ns, key, version) where key is not null;
create index memory_version on memory(ns, version, status) where version is not null;
create index memory_restores on memory(ns, restores_id) where restores_id is not null;
create index memory_changeset on memory(changeset) where changeset is not null;
create table life(
  seq integer not null, version text not null, cause text not null, superseding integer, superseding_version text, old_version text,
  reason text, actor text, changeset text, primary key(seq, version, cause)) without rowid;
create index life_superseding on life(superseding) where superseding is not null;
create index life_changeset on life(changeset) where changeset is not null;
create table relation(
  a integer not null, b integer not null, type text not null, version text not null, gone integer not null,
  weight real, note text, primary key(a, b, type)) without rowid;
create index relation_b on relation(b);
create table feedback(
  seq integer not null, feedback_id text not null, version text not null, signal real not null, verified integer not null,
  actor text, primary key(seq, feedback_id)) without rowid;
create table embedding(seq integer primary key, vector blob not null);
create table change(
  lsn integer primary key autoincrement, ns integer not null, what integer not null, a integer not null, b integer);
create table unsealed(ns integer not null, doc integer not null, seq integer not null, primary key(ns, doc)) without rowid;
create table segment(
  ns integer not null, doc integer not null, n integer not null, postings integer not null,
  lens blob not null, flags blob not null, primary key(ns, doc)) without rowid;
create table post(
  id integer primary key autoincrement, ns integer not null, doc integer not null, term integer not null, data blob not null);
create unique index post_place on post(ns, doc, term);
create table secret(name text primary key, value blob not null) without rowid;
create table tombstone(
  hash blob primary key, space blob not null, version text not null, secret text not null, receipt text not null) without rowid;
create table foreign_operation(
  op_id text primary key, version text not null, ns integer not null, payload text not null) without rowid;
"""

_V2: Final = """
create table outbox(
  n integer primary key autoincrement, unit integer not null, namespace text not null, version text not null,
  a text, b text, payload text not null);
create index outbox_namespace on outbox(namespace, n);
create table dead_letter(
  n integer primary key, unit integer not null, namespace text not null, version text not null, a text, b text,
  payload text not null, reason text not null, at integer not null);
create table cursor(namespace text primary key, n integer not null) without rowid;
"""

MIGRATIONS: Final = (_V1, _V2)  # the n-th takes a file from version n to n + 1
SCHEMA_VERSION: Final = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, where: str) -> None:
    """Make the tables of an empty database, or bring those of an older build up to date; all or nothing.

    where: what the database is called in errors. Raises StoreVersionError, StoreCorruptError.
    """
    if connection.execute("pragma user_version").fetchone()[0] == SCHEMA_VERSION:
        return
    connection.execute("begin immediate")
    try:
        version = connection.execute("pragma user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise StoreVersionError(f"{where} was written by a newer memgraph", hint="Upgrade memgraph-store.")
        if version == 0 and connection.execute("select count(*) from sqlite_master").fetchone()[0]:
            raise StoreCorruptError(f"{where} is another program's database; it was left as it is")
        for script in MIGRATIONS[version:]:
            for statement in script.split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"pragma application_id = {APPLICATION_ID}")
        connection.execute(f"pragma user_version = {SCHEMA_VERSION}")
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
