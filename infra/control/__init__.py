"""The control tables: one file per table, with its schema, its dataclass, its read and its write."""
