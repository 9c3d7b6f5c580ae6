"""The texts of tokens, for whoever may read the key store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import Usage
from core.sealed_text import is_token, person_of, unseal
from infra.personal import key_store
from infra.settings import Settings


@dataclass(frozen=True)
class Revealed:
    """A token and its text; ``why`` says why there is none."""

    token: str
    text: str | None
    why: str


def reveal(settings: Settings, tokens: Sequence[str]) -> tuple[Revealed, ...]:
    """The text of each token. Raises Usage for a text that is no token."""
    wrong = next((token for token in tokens if not is_token(token)), None)
    if wrong is not None:
        raise Usage(f"{wrong!r} is not a token", fix="pass values of a sealed field as `lk show` prints them")
    keys = key_store.keys_by_pseudonym(settings, {person_of(token) for token in tokens})
    erased = key_store.destroyed(settings)
    return tuple(_revealed(token, keys.get(person_of(token)), person_of(token) in erased) for token in tokens)


def _revealed(token: str, key: bytes | None, is_erased: bool) -> Revealed:
    if key is None:
        return Revealed(token, None, "the person was erased" if is_erased else "the key store has no key for it")
    text = unseal(key, token)
    return Revealed(token, text, "" if text is not None else "it was not made with the person's key")
