"""Keys of persons, and records whose personal fields are encrypted with them."""
