"""Where published capacity is, from the largest place to the smallest."""

import msgspec
import pytest

from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.decide.capacity.names import TEMPLATE_NODE
from plimsoll.decide.capacity.tree import IMAGINED, CapacityBranch, path_of, selector_text, tree_of
from tests.builders import HOSTNAME, ZONE
from tests.decide.capacity.scenes import HOST, REGION, published, seen

RACK = "example.com/rack"


@pytest.mark.parametrize(
    ("segment", "path"),
    [
        pytest.param({REGION: "r", ZONE: "a"}, ["region r", "zone a"], id="region-above-zone"),
        pytest.param({ZONE: "a"}, ["region r", "zone a"], id="region-of-its-nodes"),
        pytest.param({HOST: "n1"}, ["region r", "zone a", "host n1"], id="host-in-its-zone"),
        pytest.param(
            {HOSTNAME: "n9", RACK: "7", "example.com/zone": "a", "x": "y"},
            ["zone a", "rack 7", "x y", "hostname n9"],
            id="keys-of-the-driver-itself",
        ),
        pytest.param(
            {TEMPLATE_NODE: "true", "pool": "big"}, [IMAGINED, "pool big"], id="imagined-nodes"
        ),
    ],
)
def test_a_path_leads_from_the_largest_place_to_the_smallest(
    segment: dict[str, str], path: list[str]
) -> None:
    overview = seen(published(segment=segment))
    assert path_of(overview.entries[0], overview) == path


def test_an_object_for_the_whole_cluster_is_at_the_root() -> None:
    everywhere = msgspec.structs.replace(published(), node_topology=LabelSelectorSpec())
    overview = seen(everywhere)
    # Its nodes have a region in common, but it does not say that it ends there.
    assert path_of(overview.entries[0], overview) == []


def test_zones_branch_off_their_region() -> None:
    overview = seen(
        published("a", {ZONE: "a"}), published("b", {ZONE: "b"}), published("n1", {HOST: "n1"})
    )

    def names(branch: CapacityBranch) -> object:
        below = {each.name: names(each) for each in branch.branches}
        return [entry.capacity.name for entry in branch.entries], below

    assert names(tree_of(overview)) == (
        [],
        {
            "region r": (
                [],
                {"zone a": (["a"], {"host n1": (["n1"], {})}), "zone b": (["b"], {})},
            )
        },
    )


@pytest.mark.parametrize(
    ("topology", "text"),
    [
        pytest.param(None, "nowhere", id="nowhere"),
        pytest.param(
            LabelSelectorSpec(
                match_expressions=(LabelRequirementSpec(key="a", operator="In", values=("1", "2")),)
            ),
            "a in (1,2)",
            id="as-kubectl-writes-it",
        ),
        pytest.param(
            LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key="a", operator="Like"),)),
            "unreadable topology",
            id="makes-no-sense",
        ),
    ],
)
def test_a_topology_that_is_no_list_of_labels_is_a_place_of_its_own(
    topology: LabelSelectorSpec | None, text: str
) -> None:
    overview = seen(msgspec.structs.replace(published(), node_topology=topology))
    (entry,) = overview.entries
    assert selector_text(entry) == text
    assert path_of(entry, overview) == [text]
