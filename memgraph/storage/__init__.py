"""Bytes and sockets: files, queries and connections that know no meaning."""
