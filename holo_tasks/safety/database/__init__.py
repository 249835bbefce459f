"""The shared database: its connection, schema, errors and time limits.

There is one database for everything that runs share: SQLite in WAL mode with synchronous FULL, or Postgres, with the
same SQLAlchemy code. Every promise is one conditional UPDATE in one transaction. If the database is away, no model is
called and no input is sent. `schema` stores a version and migrates older forms. `database_time_limit` limits each
transaction by closing the socket of a hung server. `database_errors` describes errors without the driver's text,
which may contain part of the URL.

`store` opens SQLite or Postgres, `schema` migrates it, `database_errors` explains errors. The package imports `core`,
`machine` and `safety`.
"""
