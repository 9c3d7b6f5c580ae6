"""Text that is encrypted with the key of the person whom it is about, and pseudonyms of persons.

AES-SIV (RFC 5297) gives equal texts of a person equal tokens, so views can group, join and count them without a key. A
token names its person's pseudonym, and cannot be changed or moved to another person unnoticed.
"""

from __future__ import annotations

import re

KEY_BYTES = 64  # two keys of 256 bits, as RFC 5297 needs
# Java and Python read these patterns alike, and the decoder's fast path takes them.
PSEUDONYM = "s[0-9a-f]{32}"
TOKEN = "e[0-9a-f]{64,}"  # noqa: S105 - a pattern
_PERSON = slice(1, 33)  # the digits of the pseudonym in both

_IS_PSEUDONYM = re.compile(PSEUDONYM)
_IS_TOKEN = re.compile(TOKEN)


def is_pseudonym(text: str) -> bool:
    """Whether a text has the form of a pseudonym."""
    return _IS_PSEUDONYM.fullmatch(text) is not None


def is_token(text: str) -> bool:
    """Whether a text has the form of a token."""
    return _IS_TOKEN.fullmatch(text) is not None


def person_of(token: str) -> str:
    """The pseudonym of the person whose key opens a token."""
    return f"s{token[_PERSON]}"


def seal(key: bytes, pseudonym: str, text: str) -> str:
    """The token of a text."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # 30 ms, which most verbs do not need

    person = pseudonym[_PERSON]
    return f"e{person}{AESSIV(key).encrypt(text.encode(), [person.encode()]).hex()}"


def unseal(key: bytes, token: str) -> str | None:
    """The text of a token; None if it was not made with this key, or was changed."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    person, sealed = token[_PERSON], token[_PERSON.stop :]
    try:
        return AESSIV(key).decrypt(bytes.fromhex(sealed), [person.encode()]).decode()
    except (InvalidTag, ValueError):
        return None
