"""A request that changes objects, and would create one, needs the right to create it as well."""

from plimsoll.apiserver.access.attributes import NAMESPACES, AccessAttributes
from plimsoll.apiserver.verbs.write import Write


def check_creation(write: Write) -> None:
    """Raises 403."""
    resource, target = write.kind.resource, write.target
    is_namespace = (resource.group, resource.plural) == ("", NAMESPACES)
    asked = AccessAttributes(
        verb="create",
        group=resource.group,
        resource=resource.plural,
        # A namespace is in itself.
        namespace=target.name if is_namespace else target.namespace,
        name=target.name,
    )
    write.cluster.access.check(write.user, asked)
