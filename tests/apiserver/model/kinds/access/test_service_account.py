from datetime import UTC, datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.access.service_account import RULES

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_only_the_names_of_secrets_are_kept() -> None:
    account: Document = {"metadata": {}, "secrets": [{"name": "a", "kind": "Secret"}]}

    RULES.prepare_create(account, NOW)

    assert account["secrets"] == [{"name": "a"}]


def test_the_deprecated_annotation_is_warned_of_once() -> None:
    account: Document = {
        "metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
    }

    assert len(RULES.warnings(account, None)) == 1
    assert RULES.warnings(account, account) == []
