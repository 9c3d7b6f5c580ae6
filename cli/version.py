"""The version that `lk --version` prints. The jobs' image has the code but no installed package to read it from."""

VERSION = "0.1.0"  # equals the version in pyproject.toml
