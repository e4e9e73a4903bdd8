"""What the expressions of a policy see of a request, by the names that they use."""

from dataclasses import replace
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.users import User, account_groups, account_name, user_info
from plimsoll.apiserver.admission.attributes import Attributes
from plimsoll.apiserver.admission.policies.matching import MatchedVersion
from plimsoll.apiserver.admission.webhooks.configuration import is_deletion
from plimsoll.apiserver.admission.webhooks.review import (
    SUBRESOURCE_KINDS,
    options_told,
    written_scale,
)
from plimsoll.apiserver.model.custom.cel.library.authorizers import (
    AccessAnswer,
    AccessQuestion,
    AuthorizerValue,
    ResourceCheck,
)
from plimsoll.apiserver.model.policies.expressions import NAMESPACE_METADATA

VERBS = {"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}


class PolicyQuestion:
    """One request, in the version that a policy asks for."""

    def __init__(self, attributes: Attributes, matched: MatchedVersion) -> None:
        self._attributes = attributes
        self._version = matched.version

    def names(self, params: Document | None) -> dict[str, Any]:
        attributes = self._attributes
        deletes = is_deletion(attributes)
        return {
            "object": None if deletes else self._shown(attributes.document),
            "oldObject": self._shown(attributes.document if deletes else attributes.old),
            "request": self._request(),
            "params": params,
            "namespaceObject": self._namespace(),
            "authorizer": self._authorizer(),
        }

    def _shown(self, document: Document | None) -> Document | None:
        """With its kind, in the version of the policy."""
        if document is None:
            return None
        group, version, kind = self._kind(self._version)
        head = {"kind": kind, "apiVersion": f"{group}/{version}" if group else version}
        if self._attributes.subresource == "scale":
            return written_scale(self._attributes.resource, document)
        return document | head

    def _kind(self, version: str) -> tuple[str, str, str]:
        resource = self._attributes.resource
        own = (resource.group, version, resource.kind)
        return SUBRESOURCE_KINDS.get(self._attributes.subresource, own)

    def _request(self) -> Document:
        attributes, own = self._attributes, self._attributes.resource.version
        asked: Document = {
            "kind": self._written_kind(self._version),
            "resource": self._written_resource(self._version),
            "requestKind": self._written_kind(own),
            "requestResource": self._written_resource(own),
            "operation": str(attributes.operation),
            "userInfo": user_info(self._user),
            "dryRun": attributes.dry_run,
            "options": options_told(attributes),
        }
        # What is empty is left out, as Kubernetes does: `has` tells the two apart.
        said = {
            "name": attributes.name,
            "namespace": attributes.told_namespace,
            "subResource": attributes.subresource,
            "requestSubResource": attributes.subresource,
        }
        return asked | {key: value for key, value in said.items() if value}

    def _written_kind(self, version: str) -> Document:
        group, version, kind = self._kind(version)
        return {"group": group, "version": version, "kind": kind}

    def _written_resource(self, version: str) -> Document:
        resource = self._attributes.resource
        return {"group": resource.group, "version": version, "resource": resource.plural}

    def _namespace(self) -> Document | None:
        attributes = self._attributes
        if not attributes.namespace:
            return None
        found = attributes.reader.get("", "namespaces", "", attributes.namespace)
        if found is None:
            return None
        meta = {key: value for key, value in found["metadata"].items() if key in NAMESPACE_METADATA}
        shown = {"metadata": meta, "spec": found.get("spec") or {}}
        return shown | {"status": found.get("status") or {}}

    @property
    def _user(self) -> User:
        attributes = self._attributes
        if isinstance(attributes.requester, User):
            return attributes.requester
        return User(name=attributes.user, groups=attributes.groups)

    def _authorizer(self) -> AuthorizerValue:
        attributes = self._attributes
        made = AuthorizerValue(self._answer)
        asked = AccessQuestion(
            group=attributes.resource.group,
            resource=attributes.resource.plural,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
        )
        made["requestResource"] = ResourceCheck(asked, self._answer)
        return made

    def _answer(self, asked: AccessQuestion) -> AccessAnswer:
        user = self._user
        if asked.account is not None:
            namespace, name = asked.account
            groups = (*account_groups(namespace), "system:authenticated")
            user = replace(User(name=account_name(namespace, name)), groups=groups)
        decision = self._attributes.access.explain(
            user,
            AccessAttributes(
                verb=asked.verb,
                group=asked.group,
                resource=asked.resource,
                subresource=asked.subresource,
                namespace=asked.namespace,
                name=asked.name,
                path=asked.path,
                field_selector=asked.field_selector,
            ),
        )
        return AccessAnswer(decision.allowed, decision.reason)
