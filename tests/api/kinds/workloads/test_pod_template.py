from plimsoll.api.kinds.workloads.pod_template import RULES
from plimsoll.api.registry import Document
from tests.api.kinds.pods.objects import causes
from tests.api.kinds.workloads.objects import a_template


def test_a_template_is_checked_like_a_pod() -> None:
    good: Document = {"template": a_template()}
    bad: Document = {"template": a_template(containers=[])}
    for document in (good, bad):
        RULES.default(document)

    assert not causes(RULES.validate(good))
    assert causes(RULES.validate(bad)) == {("Required", "template.spec.containers"): 1}
