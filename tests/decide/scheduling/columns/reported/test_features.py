from plimsoll.decide.scheduling.columns.reported.features import FeatureIndex


def test_nodes_are_found_by_the_features_that_they_declare() -> None:
    index = FeatureIndex()
    index.change(0, (), ("x", "y"))
    index.change(2, (), ("x",))
    fork = index.fork()
    index.change(0, ("x", "y"), ("y",))

    assert (index.declaring("x"), index.declaring("y"), index.declaring("z")) == (4, 1, 0)
    assert fork.declaring("x") == 5
