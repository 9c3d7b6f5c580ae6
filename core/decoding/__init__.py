"""Bytes of a record become a typed event, or name the rules they break."""
