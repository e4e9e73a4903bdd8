from plimsoll.apiserver.model.custom.version_order import version_order


def test_stable_versions_come_first_and_newer_before_older() -> None:
    names = ["v1alpha1", "foo1", "v1", "v2beta1", "v10", "v2", "v11beta2", "v3beta1", "v12alpha1"]
    assert sorted(names, key=version_order) == [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v3beta1",
        "v2beta1",
        "v12alpha1",
        "v1alpha1",
        "foo1",
    ]
