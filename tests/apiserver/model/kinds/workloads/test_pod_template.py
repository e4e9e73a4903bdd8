from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.workloads.pod_template import RULES
from tests.apiserver.model.kinds.pods.objects import causes
from tests.apiserver.model.kinds.workloads.objects import a_template


def test_a_template_is_checked_like_a_pod() -> None:
    good: Document = {"template": a_template()}
    bad: Document = {"template": a_template(containers=[])}
    for document in (good, bad):
        RULES.default(document)

    assert not causes(RULES.validate(good))
    assert causes(RULES.validate(bad)) == {("Required", "template.spec.containers"): 1}
