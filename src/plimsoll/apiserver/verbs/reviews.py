"""Questions about identity and rights: answered, never stored."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.http.identity import User


def user_info(user: User) -> Document:
    info: Document = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    return info


def review(kind: str, document: Document, user: User) -> Document:
    """The document with its status filled in."""
    match kind:
        case "SelfSubjectReview":
            status: Document = {"userInfo": user_info(user)}
        case "SelfSubjectAccessReview":
            status = {"allowed": user.is_admin}
        case "SubjectAccessReview" | "LocalSubjectAccessReview":
            groups = document.get("spec", {}).get("groups", [])
            status = {"allowed": "system:masters" in groups}
        case "SelfSubjectRulesReview":
            every = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
            paths = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
            status = {
                "resourceRules": every if user.is_admin else [],
                "nonResourceRules": paths if user.is_admin else [],
                "incomplete": False,
            }
        case _:
            status = {"authenticated": False, "user": {}}
    return document | {"status": status}
