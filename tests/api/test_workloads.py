from plimsoll.api.typed import decode
from plimsoll.api.workloads import StatefulSet


def test_templates_keep_fields_that_no_struct_knows() -> None:
    raw = b"""{"spec": {
        "replicas": 3,
        "template": {"spec": {"containers": [{"name": "main", "someNewField": {"a": 1}}]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"other": true}}]
    }}"""
    spec = decode(StatefulSet, raw).spec
    assert spec.template["spec"]["containers"][0]["someNewField"] == {"a": 1}
    assert spec.volume_claim_templates[0]["spec"] == {"other": True}
