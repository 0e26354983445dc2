"""Describes the schema of a database as text, which tests compare with what is recorded.

    gainboard migrate --data NEW && python -m tests.operations.schema sqlite:///NEW/gainboard.db > 0018.sqlite.txt

describes a new database as its migrations make it. The two files `0018.*.txt` in `tests/operations/recorded` were made
so from the 18 migrations that one now stands for, and stay as they are.
"""

import sys
from contextlib import closing

from gainboard.store.database import Database

QUERIES = {
    "sqlite": (
        "SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%'",
    ),
    "postgresql": (
        "SELECT 'column ' || relname || ' ' || attnum || ' ' || attname || ': ' || format_type(atttypid, atttypmod) || "
        "CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END || coalesce(' DEFAULT ' || pg_get_expr(adbin, adrelid), '')"
        " || coalesce(' COLLATE ' || nullif(collname, 'default'), '') FROM pg_class c JOIN pg_attribute a ON attrelid "
        "= c.oid LEFT JOIN pg_attrdef d ON adrelid = c.oid AND adnum = attnum LEFT JOIN pg_collation l ON l.oid = "
        "attcollation WHERE relkind IN ('r', 'v', 'm', 'p') AND attnum > 0 AND NOT attisdropped AND relnamespace = "
        "'public'::regnamespace",
        "SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ': ' || pg_get_constraintdef(oid) FROM "
        "pg_constraint WHERE connamespace = 'public'::regnamespace",
        "SELECT 'index ' || indexname || ': ' || indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT 'trigger ' || tgname || ': ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
        "SELECT 'function ' || proname || ': ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = "
        "'public'::regnamespace",
        "SELECT 'sequence ' || sequencename || ': ' || data_type FROM pg_sequences WHERE schemaname = 'public'",
    ),
}


def described(tx):
    """Everything that the schema has, a line each, in order; without the white space that SQLite keeps."""
    found = [text for query in QUERIES[tx.dialect.name] for text in tx.exec_driver_sql(query).scalars()]
    return sorted(" ".join(text.split()) for text in found)


if __name__ == "__main__":
    with closing(Database(sys.argv[1])) as database, database.reading() as connection:
        print("\n".join(described(connection)))
