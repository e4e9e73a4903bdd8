"""What the API fills in for a volume of a pod."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.images import default_pull_policy
from plimsoll.apiserver.model.kinds.storage.claim_spec import default_claim_spec
from plimsoll.apiserver.model.kinds.storage.volume_sources import default_source

READ_BY_ALL = 0o644
TOKEN_SECONDS = 3600
FILE_SOURCES = ("secret", "configMap", "downwardAPI", "projected")


def default_volume(volume: Document) -> None:
    if set(volume) <= {"name"}:
        volume["emptyDir"] = {}
    default_source(volume)
    for name in FILE_SOURCES:
        if name in volume:
            volume[name].setdefault("defaultMode", READ_BY_ALL)
    if "image" in volume and not volume["image"].get("pullPolicy"):
        volume["image"]["pullPolicy"] = default_pull_policy(volume["image"].get("reference", ""))
    _default_files((volume.get("downwardAPI") or {}).get("items") or [])
    for source in (volume.get("projected") or {}).get("sources") or []:
        _default_projection(source)
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(template.setdefault("spec", {}))


def _default_projection(source: Document) -> None:
    if "serviceAccountToken" in source:
        source["serviceAccountToken"].setdefault("expirationSeconds", TOKEN_SECONDS)
    _default_files((source.get("downwardAPI") or {}).get("items") or [])


def _default_files(files: list[Document]) -> None:
    for file in files:
        if "fieldRef" in file and not file["fieldRef"].get("apiVersion"):
            file["fieldRef"]["apiVersion"] = "v1"
