"""The control tables and the manifests: one file each, with the schema, the dataclass, the read and the write."""
