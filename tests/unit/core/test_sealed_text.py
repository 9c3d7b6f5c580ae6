"""Tokens are equal for equal texts of a person, and open with that person's key alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.sealed_text import KEY_BYTES, is_token, person_of, seal, unseal

KEYS = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES).filter(lambda key: key[:32] != key[32:])
TEXTS = st.text(min_size=1)
ANN = "s" + "a" * 32


@given(KEYS, TEXTS)
def test_a_token_opens_to_its_text_and_names_its_person(key: bytes, text: str) -> None:
    token = seal(key, ANN, text)
    assert is_token(token)
    assert (unseal(key, token), person_of(token)) == (text, ANN)
    assert seal(key, ANN, text) == token


@given(KEYS, KEYS, TEXTS)
def test_no_other_key_opens_it(key: bytes, other: bytes, text: str) -> None:
    assert (unseal(other, seal(key, ANN, text)) is None) == (other != key)


@given(KEYS, TEXTS, st.data())
def test_a_changed_digit_is_noticed(key: bytes, text: str, data: st.DataObject) -> None:
    token = seal(key, ANN, text)
    place = data.draw(st.integers(1, len(token) - 1))
    digit = data.draw(st.sampled_from("0123456789abcdef").filter(lambda new: new != token[place]))
    assert unseal(key, token[:place] + digit + token[place + 1 :]) is None
