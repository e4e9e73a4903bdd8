"""Scenario files: what people write and what programs write are read alike, and strictly.

    scenario = load(Path("zone-loss.yaml"))
    text = dump(scenario)  # reads back as the same scenario, to the last digit

docs/reference/scenarios.md describes the format.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
import yaml
from grpc import StatusCode

from plimsoll.api.registry import Document, all_resources
from plimsoll.decide.ceph.takeover.takeover_map import ALL
from plimsoll.simulator.cluster.shape import NO_PROVISIONER, SECOND_SCHEDULER, ClusterShape
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import (
    AnyFault,
    BreakWatches,
    DelayWatches,
    ScenarioFault,
)
from plimsoll.simulator.scenario.layout import ScenarioPart, cluster_document, read_cluster
from plimsoll.simulator.scenario.scenario import Scenario
from plimsoll.simulator.scenario.static_volumes import CreateZonalVolumes
from plimsoll.simulator.scenario.strict import (
    DURATIONS,
    ScenarioError,
    listed,
    read_list,
    read_part,
    written_seconds,
)
from plimsoll.simulator.scenario.takeover_maps import SetTakeoverMap
from plimsoll.simulator.scenario.user import Action

E = TypeVar("E", bound=Action | ScenarioFault)

LEADING = "leader of "
CODES = frozenset(code.name for code in StatusCode if code is not StatusCode.OK)
"""With which calls fail."""


def load(path: Path) -> Scenario:
    """Raises ScenarioError, which names the file, the place and the remedy."""
    try:
        return parse_scenario(path.read_text())
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: is not text: {error}") from error
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from error


def parse_scenario(text: str) -> Scenario:
    """Raises ScenarioError."""
    part = read_part(ScenarioPart, _document(text), "scenario")
    cluster = read_cluster(part.cluster)
    actions = tuple(_entries(part.actions, "actions", _by_tag(get_args(AnyAction))))
    faults = tuple(_entries(part.faults, "faults", _by_tag(get_args(AnyFault))))
    scenario = Scenario(
        seed=part.seed,
        cluster=cluster,
        actions=actions,
        faults=faults,
        lasting=part.lasting,
        settling=part.settling,
    )
    check_names(scenario)
    return scenario


def dump(scenario: Scenario) -> str:
    """With every node and pool by name."""
    cluster = cluster_document(scenario.cluster)
    document: Document = {
        "seed": scenario.seed,
        "lasting": written_seconds(scenario.lasting),
        "settling": written_seconds(scenario.settling),
        "cluster": cluster,
        "actions": [entry_document(each) for each in scenario.actions],
        "faults": [entry_document(each) for each in scenario.faults],
    }
    text: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=100)
    return text


def entry_document(entry: Action | ScenarioFault) -> Document:
    """What happens first, then what differs from what is usual."""
    document: Document = msgspec.to_builtins(entry)
    usual = {
        each.encode_name: each.default
        for each in msgspec.structs.fields(entry)
        if each.default is not msgspec.NODEFAULT
    }
    kept = {key: v for key, v in document.items() if key not in usual or v != usual[key]}
    first = {"at": kept.pop("at"), "do": kept.pop("do"), **kept}
    return {key: written_seconds(v) if key in DURATIONS else v for key, v in first.items()}


class _UniqueKeys(yaml.SafeLoader):
    """YAML itself lets the last of equal keys win, silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 yaml's signature
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    line = key.start_mark.line + 1
                    raise ScenarioError(f'line {line}: "{key.value}" is given twice; keep one')
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _document(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_UniqueKeys)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, RecursionError) as error:
        raise ScenarioError(f"is not YAML: {error}") from error


# Actions and faults


def _by_tag(forms: tuple[type[E], ...]) -> dict[str, type[E]]:
    return {str(form.__struct_config__.tag): form for form in forms}


def _entries(given: Any, place: str, forms: Mapping[str, type[E]]) -> Iterator[E]:
    for where, entry in read_list(given, place):
        tag = entry.get("do") if isinstance(entry, dict) else None
        form = forms.get(tag) if isinstance(tag, str) else None
        if form is None:
            said = "needs do" if tag is None else f'unknown do "{tag}"'
            raise ScenarioError(f"{where}: {said}; known are {listed(forms)}")
        yield read_part(form, entry, where)


# What names what


def check_names(scenario: Scenario) -> None:
    """Every name that an entry uses is there. Raises ScenarioError."""
    known = _known_names(scenario.cluster)
    for name, entries in (("actions", scenario.actions), ("faults", scenario.faults)):
        for number, entry in enumerate(entries):
            _check_entry(entry, f"{name}[{number}]", known)
            _check_driver(entry, f"{name}[{number}]", scenario.cluster)
            _check_takeover(entry, f"{name}[{number}]", scenario.cluster)
            if entry.at > scenario.lasting:
                end = written_seconds(scenario.lasting)
                message = (
                    f"is after the end, lasting: {end}; choose an earlier time, or last longer"
                )
                raise ScenarioError(f"{name}[{number}].at: {message}")


def _known_names(shape: ClusterShape) -> dict[str, Callable[[str], str]]:
    """By field: what is wrong with a value, empty if nothing is."""
    classes = {each.name for each in shape.classes}
    drivers = {each.name for each in shape.drivers}
    nodes = {each.name for each in shape.nodes}
    return {
        "className": lambda name: "" if name in classes else f"there are {listed(classes)}",
        "driver": lambda name: "" if name in drivers else f"there are {listed(drivers)}",
        "zone": lambda name: "" if name in shape.zones else f"there are {listed(shape.zones)}",
        "node": lambda name: "" if name in nodes else f"one is {shape.nodes[0].name}",
        "what": lambda name: _check_process(name, process_names(shape)),
        "resource": _check_resource,
        "code": lambda name: "" if name in CODES else f"there are {listed(CODES)}",
    }


def _check_resource(name: str) -> str:
    """All that processes watch; empty: none in particular."""
    known = {each.plural for each in all_resources()}
    if not name or name in known:
        return ""
    close = get_close_matches(name, sorted(known), n=1)
    return f'did you mean "{close[0]}"?' if close else "write it like persistentvolumes"


def _check_entry(
    entry: Action | ScenarioFault, place: str, known: Mapping[str, Callable[[str], str]]
) -> None:
    for field, value in msgspec.to_builtins(entry).items():
        if value == SECOND_SCHEDULER and isinstance(entry, BreakWatches | DelayWatches):
            continue
        if field in known and (remedy := known[field](value)):
            raise ScenarioError(f'{place}.{field}: no "{value}"; {remedy}')


def _check_driver(entry: Action | ScenarioFault, place: str, shape: ClusterShape) -> None:
    """Volumes in a zone are made by the driver of their class."""
    if not isinstance(entry, CreateZonalVolumes):
        return
    drivers = {each.name: each.driver for each in shape.classes}
    if drivers[entry.class_name] == NO_PROVISIONER:
        message = f'class "{entry.class_name}" has no driver; choose another class, or '
        raise ScenarioError(f"{place}.className: {message}createLocalVolumes")


def _check_takeover(entry: Action | ScenarioFault, place: str, shape: ClusterShape) -> None:
    """Who reads the map, and which zones it can name."""
    if not isinstance(entry, SetTakeoverMap):
        return
    if not shape.takeover:
        raise ScenarioError(f"{place}: nothing reads the map; add takeover: DRIVER to cluster")
    domains = {*shape.zones, *shape.racks}
    named = {*entry.takeover, *(name for names in entry.takeover.values() for name in names)}
    for name in sorted(named - {ALL}):
        if name.partition(".")[0] not in domains:
            raise ScenarioError(f'{place}.takeover: no "{name}"; there are {listed(domains)}')


def process_names(shape: ClusterShape) -> list[str]:
    """Of everything that faults can strike."""
    copies = shape.copies
    names = ["apiserver", *(f"driver {each.name}" for each in shape.drivers)]
    names += [f"scheduler-{number}" for number in range(copies.schedulers)]
    names += [f"controller-{number}" for number in range(copies.controllers)]
    for driver in shape.drivers:
        names += driver.provisioners(shape.nodes, copies)
    return [*names, *(f"nodes {rack}" for rack in shape.racks)]


def _check_process(what: str, names: list[str]) -> str:
    """A name, the beginning of one, or the leader of some."""
    beginning = what.removeprefix(LEADING).rstrip("*")
    if what in names or any(name.startswith(beginning) for name in names):
        return ""
    return f"processes are {', '.join(names[:12])}{', …' if len(names) > 12 else ''}"  # noqa: PLR2004
