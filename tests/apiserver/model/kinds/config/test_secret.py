from base64 import b64encode
from collections import Counter

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.config.secret import RULES
from tests.apiserver.model.kinds.complaints import complaints


def a_secret(kind: str = "", **data: str) -> Document:
    encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    secret: Document = {"metadata": {}, "type": kind, "data": encoded}
    RULES.default(secret)
    return secret


def test_plain_text_is_stored_encoded_over_what_was_there() -> None:
    secret: Document = {
        "metadata": {},
        "data": {"k": "dg=="},
        "stringData": {"k": "over", "s": "x"},
    }

    RULES.default(secret)

    assert secret == {"metadata": {}, "type": "Opaque", "data": {"k": "b3Zlcg==", "s": "eA=="}}


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("kubernetes.io/basic-auth", ["data[username]", "data[password]"]),
        ("kubernetes.io/tls", ["data[tls.crt]", "data[tls.key]"]),
        ("kubernetes.io/ssh-auth", ["data[ssh-privatekey]"]),
        ("kubernetes.io/dockercfg", ["data[.dockercfg]"]),
        ("kubernetes.io/dockerconfigjson", ["data[.dockerconfigjson]"]),
        (
            "kubernetes.io/service-account-token",
            ["metadata.annotations[kubernetes.io/service-account.name]"],
        ),
        ("example.com/any", []),
    ],
)
def test_each_type_needs_its_keys(kind: str, missing: list[str]) -> None:
    found = complaints(RULES.validate(a_secret(kind, other="x")))

    assert found == Counter(("Required", field) for field in missing)


def test_a_password_alone_is_enough() -> None:
    assert (
        complaints(RULES.validate(a_secret("kubernetes.io/basic-auth", password=""))) == Counter()
    )


@pytest.mark.parametrize(("content", "faults"), [("{}", 0), ("null", 0), ("[]", 1), ("{", 1)])
def test_registry_credentials_are_a_json_object(content: str, faults: int) -> None:
    secret = a_secret("kubernetes.io/dockerconfigjson", **{".dockerconfigjson": content})

    found = complaints(RULES.validate(secret))

    assert found == Counter([("Invalid", "data[.dockerconfigjson]")] * faults)


def test_the_type_never_changes() -> None:
    old, new = a_secret("my/type"), a_secret("Opaque")

    assert complaints(RULES.validate_update(new, old)) == Counter([("Invalid", "type")])


def test_a_frozen_secret_takes_no_plain_text_either() -> None:
    old = a_secret(k="v") | {"immutable": True}
    new = old | {"stringData": {"q": "x"}, "data": dict(old["data"])}

    RULES.default(new)

    assert complaints(RULES.validate_update(new, old)) == Counter([("Forbidden", "data")])


def test_a_pair_that_is_no_certificate_is_stored_with_a_warning() -> None:
    secret = a_secret("kubernetes.io/tls", **{"tls.crt": "x", "tls.key": "y"})

    assert complaints(RULES.validate(secret)) == Counter()
    assert len(RULES.warnings(secret, None)) == 1


def test_a_value_that_is_null_is_stored_as_no_bytes() -> None:
    secret = {"metadata": {"name": "x"}, "data": {"a": None, "b": "eA=="}}
    RULES.default(secret)
    assert secret["data"] == {"a": "", "b": "eA=="}
    assert [*RULES.validate(secret)] == []
