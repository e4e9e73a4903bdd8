"""Which names an expression of a policy may use, and what it must evaluate to."""

import pytest

from plimsoll.apiserver.model.custom.cel.program import CompilationError
from plimsoll.apiserver.model.policies.expressions import BOOL, compiled_expression, places

NAMES = places(has_params=False, variables={"size": "int"})


@pytest.mark.parametrize(
    "text",
    [
        "object.spec.a == oldObject.spec.a",
        "request.userInfo.extra['a'][0] == 'b'",
        "request.options.anything == 1",
        "namespaceObject.metadata.labels['a'] == namespaceObject.status.phase",
        "authorizer.group('').resource('pods').check('get').allowed()",
        "variables.size < 3",
    ],
)
def test_what_every_policy_may_say_is_compiled(text: str) -> None:
    _, kind = compiled_expression(text, NAMES, BOOL)
    assert kind == "bool"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("params.a == 1", "compilation failed: undeclared reference to 'params' (in container '')"),
        ("request.object == 1", "compilation failed: undefined field 'object'"),
        ("variables.other == 1", "compilation failed: undefined field 'other'"),
        ("namespaceObject.metadata.uid == ''", "compilation failed: undefined field 'uid'"),
        ("object.a", "must evaluate to bool but got dyn"),
        ("variables.size", "must evaluate to bool but got int"),
    ],
)
def test_what_no_object_could_satisfy_is_refused(text: str, why: str) -> None:
    with pytest.raises(CompilationError) as refused:
        compiled_expression(text, NAMES, BOOL)
    assert str(refused.value) == why


def test_an_expression_without_the_authorizer_cannot_name_it() -> None:
    names = places(has_params=False, has_authorizer=False)
    with pytest.raises(CompilationError, match="undeclared reference to 'authorizer'"):
        compiled_expression("authorizer == null", names)
