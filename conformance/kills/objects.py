"""What the load puts into the cluster, beside what the tour of `plimsoll demo` has."""

from plimsoll.api.registry import Document
from plimsoll.ui.demo.objects import claim, database


def stateful_set(name: str, size: str, class_: str, replicas: int) -> Document:
    """Like the tour's, under another name and of any class."""
    labels = {"app": name}
    document = database()
    document["metadata"] = {**document["metadata"], "name": name}
    spec = document["spec"]
    spec["replicas"], spec["serviceName"] = replicas, name
    spec["selector"] = {"matchLabels": labels}
    spec["template"] = {**spec["template"], "metadata": {"labels": labels}}
    wanted = claim("data", size, class_=class_)["spec"]
    spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": wanted}]
    return document
