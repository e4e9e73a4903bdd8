from plimsoll.decide.annotations import MIGRATED_TO
from plimsoll.decide.csi.migration import (
    DRIVER_BY_PLUGIN,
    find_driver,
    is_in_tree,
    migration_patch,
)

EBS, EBS_DRIVER = "kubernetes.io/aws-ebs", "ebs.csi.aws.com"


def test_every_plugin_has_one_driver_and_back() -> None:
    assert all(is_in_tree(plugin) for plugin in DRIVER_BY_PLUGIN)
    assert len(set(DRIVER_BY_PLUGIN.values())) == len(DRIVER_BY_PLUGIN) == 7


def test_only_plugins_were_handed_over() -> None:
    assert find_driver(EBS) == EBS_DRIVER
    assert find_driver(EBS_DRIVER) is None
    assert find_driver("kubernetes.io/no-provisioner") is None


def test_the_annotation_follows_the_provisioner() -> None:
    assert migration_patch({}, EBS) == {MIGRATED_TO: EBS_DRIVER}
    assert migration_patch({MIGRATED_TO: "other"}, EBS) == {MIGRATED_TO: EBS_DRIVER}
    assert migration_patch({MIGRATED_TO: EBS_DRIVER}, EBS) == {}
    assert migration_patch({MIGRATED_TO: EBS_DRIVER}, EBS_DRIVER) == {MIGRATED_TO: None}


def test_without_a_provisioner_nothing_is_claimed() -> None:
    assert migration_patch({MIGRATED_TO: "other"}, None) == {}
