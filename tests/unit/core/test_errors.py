"""An error that another process writes as JSON is the same error here."""

from __future__ import annotations

import json

import pytest

from core.errors import LkError, Refused, TryAgain, Usage, as_document, from_document


@pytest.mark.parametrize("kind", [Refused, TryAgain, Usage])
def test_an_error_goes_through_json_unchanged(kind: type[LkError]) -> None:
    error = from_document(json.loads(json.dumps(as_document(kind("what", where="where", fix="fix")))))
    assert (type(error), error.what, error.where, error.fix) == (kind, "what", "where", "fix")


def test_an_exit_code_without_a_kind_is_a_refusal() -> None:
    assert type(from_document({"what": "w", "where": "", "fix": "", "exit": 130})) is Refused
