"""Families of addresses, of a service in a cluster that has one of them.

Two fields hold the address, and the older one is the first of the other; two more say which
families are wanted. A client may leave out any of them: what it means is settled here, in the words
of the real server.
"""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.networking.addresses import address_errors, find_address

NONE = "None"
FAMILIES = ("IPv4", "IPv6")
SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
POLICIES = (PREFER, REQUIRE, SINGLE)
FIELDS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
SETTLED = "may not change once set"


def is_headless(spec: Document) -> bool:
    return bool(spec.get("clusterIPs") == [NONE])


def needs_address(spec: Document) -> bool:
    return spec["type"] != "ExternalName" and not is_headless(spec)


def mirror_addresses(spec: Document, old: Document | None) -> None:
    """The list follows the older field, where a client has set or changed only that."""
    address, before = spec.get("clusterIP", ""), (old or {}).get("clusterIP", "")
    if old is None:
        if address and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [address]
        return
    if not spec.get("clusterIPs") and old.get("clusterIPs") and address == before:
        spec["clusterIPs"] = old["clusterIPs"]
    elif address != before and spec.get("clusterIPs") == old.get("clusterIPs"):
        spec.pop("clusterIPs", None)
        if address:
            spec["clusterIPs"] = [address]


def settle_policy(spec: Document, old: Document | None) -> None:
    if spec.get("ipFamilyPolicy"):
        return
    before = (old or {}).get("ipFamilyPolicy")
    selects_none = spec.get("clusterIP") == NONE and not spec.get("selector")
    spec["ipFamilyPolicy"] = before or (REQUIRE if selects_none else SINGLE)


def settle_families(spec: Document, old: Document | None, served: str) -> list[FieldError]:
    """Fill in the families; why that cannot be done. `served` is the cluster's only one."""
    errors = [*_dropped_errors(spec, old), *_single_errors(spec), *_inferred_errors(spec, served)]
    if errors:
        return errors
    if spec.get("clusterIP") == NONE and not spec.get("selector"):
        spec["ipFamilies"] = _of_headless(spec, served)
        return []
    if spec["ipFamilyPolicy"] == REQUIRE:
        errors.append(
            FieldError.invalid(
                "spec.ipFamilyPolicy",
                REQUIRE,
                "this cluster is not configured for dual-stack services",
            )
        )
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family != served:
            path = f"spec.ipFamilies[{index}]"
            errors.append(FieldError.invalid(path, family, "not configured on this cluster"))
    if not errors and not spec.get("ipFamilies"):
        spec["ipFamilies"] = [served]
    return errors


def _dropped_errors(spec: Document, old: Document | None) -> Iterator[FieldError]:
    """Two become one only when that is said."""
    if old is None:
        return
    for field, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        now, before = spec.get(field) or [], old.get(field) or []
        if spec["ipFamilyPolicy"] != SINGLE:
            if now and len(now) < len(before):
                said = f"must be 'SingleStack' to release the secondary {what}"
                yield FieldError.invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], said)
        elif now == before and len(now) > 1:
            spec[field] = now[:1]


def _single_errors(spec: Document) -> Iterator[FieldError]:
    for field, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if spec["ipFamilyPolicy"] == SINGLE and len(spec.get(field) or ()) > 1:
            yield FieldError.invalid(
                "spec.ipFamilyPolicy",
                SINGLE,
                f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are "
                "specified",
            )


def _inferred_errors(spec: Document, served: str) -> Iterator[FieldError]:
    families = list(spec.get("ipFamilies") or ())
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        if address == NONE or index < len(families):
            continue
        family = _family(address)
        if family != served:
            yield FieldError.invalid(
                f"spec.clusterIPs[{index}]",
                spec["clusterIPs"],
                f"{family} is not configured on this cluster",
            )
            return
        families.append(family)
    if families:
        spec["ipFamilies"] = families


def _family(address: str) -> str:
    found = find_address(address)
    return "" if found is None else f"IPv{found.version}"


def _of_headless(spec: Document, served: str) -> list[str]:
    """A service that selects no pods says by itself where they are, in either family."""
    families = list(spec.get("ipFamilies") or [served])
    if len(families) == 1 and spec["ipFamilyPolicy"] != SINGLE:
        families += [family for family in FAMILIES if family not in families]
    return families


def related_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    """What is wrong with the four fields as they are; `old` is empty for a new service."""
    if spec["type"] == "ExternalName":
        return
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    if spec.get("clusterIP") and addresses[:1] != [spec["clusterIP"]]:
        yield FieldError.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    elif addresses and not spec.get("clusterIP"):
        yield FieldError.invalid(
            "spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified"
        )
    seen: set[str] = set()
    for index, family in enumerate(families):
        if family not in FAMILIES:
            yield FieldError.not_supported(f"spec.ipFamilies[{index}]", family, FAMILIES)
        if family in seen:
            yield FieldError.duplicate(f"spec.ipFamilies[{index}]", family)
        seen.add(family)
    policy = spec.get("ipFamilyPolicy", SINGLE)
    if policy not in POLICIES:
        yield FieldError.not_supported("spec.ipFamilyPolicy", policy, POLICIES)
    yield from _cluster_address_errors(addresses, families, old.get("clusterIPs") or ())


def _cluster_address_errors(
    addresses: list[str], families: list[str], known: list[str] | tuple[str, ...]
) -> Iterator[FieldError]:
    if addresses[:1] == [NONE]:
        if len(addresses) > 1:
            said = "'None' must be the first and only value"
            yield FieldError.invalid("spec.clusterIPs", addresses, said)
        return
    wrong = [
        error
        for index, address in enumerate(addresses)
        for error in address_errors(address, f"spec.clusterIPs[{index}]", known)
    ]
    yield from wrong
    if len(addresses) > len(FAMILIES):
        yield FieldError.invalid("spec.clusterIPs", addresses, "may only hold up to 2 values")
    if wrong:
        return
    if len(addresses) > 1 and len({_family(address) for address in addresses}) == 1:
        said = "may specify no more than one IP for each IP family"
        yield FieldError.invalid("spec.clusterIPs", addresses, said)
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if _family(address) != family:
            said = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield FieldError.invalid(f"spec.clusterIPs[{index}]", address, said)


def change_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    """What a service has been given it keeps."""
    if "ExternalName" in (spec["type"], old["type"]):
        return
    now, before = spec.get("clusterIPs") or [], old.get("clusterIPs") or []
    if before and not now:
        yield FieldError.invalid("spec.clusterIPs[0]", now, "primary clusterIP can not be unset")
    elif before and now[0] != before[0]:
        yield FieldError.invalid("spec.clusterIPs[0]", now, SETTLED)
    families, held = spec.get("ipFamilies") or [], old.get("ipFamilies") or []
    both_have = needs_address(spec) and needs_address(old)
    if both_have and families and held and families[0] != held[0]:
        yield FieldError.invalid("spec.ipFamilies[0]", families, SETTLED)
