"""The shared database: its connection, schema, errors and time limits.

`store` opens SQLite or Postgres, `schema` migrates it, `database_errors` explains errors. The package imports `core`,
`machine` and `safety`.
"""
