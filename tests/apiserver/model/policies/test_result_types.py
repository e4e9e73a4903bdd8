"""What type an expression has, without running it."""

import pytest

from plimsoll.apiserver.model.custom.cel.parsing import parsed
from plimsoll.apiserver.model.policies.expressions import places
from plimsoll.apiserver.model.policies.result_types import result_type

NAMES = places(has_params=True, variables={"n": "int", "any": None})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("object.a == 1 && true", "bool", id="comparison"),
        pytest.param("object.a.b[0]", "dyn", id="what-an-object-holds"),
        pytest.param("params", "dyn", id="parameters"),
        pytest.param("request.name", "string", id="a-field-that-is-known"),
        pytest.param("request.userInfo.groups[0]", "string", id="an-element-that-is-known"),
        pytest.param("request.dryRun", "bool", id="a-truth-value-that-is-known"),
        pytest.param("'a' + object.b", "string", id="text-and-anything"),
        pytest.param("object.a + object.b", "dyn", id="anything-and-anything"),
        pytest.param("variables.n * 2", "int", id="variable"),
        pytest.param("variables.any", None, id="variable-of-no-known-type"),
        pytest.param("[1]", "list", id="list"),
        pytest.param("{'a': 1}", "map", id="map"),
        pytest.param("object.a ? 'a' : 'b'", "string", id="choice"),
        pytest.param("object.a ? 'a' : 1", None, id="choice-of-two-types"),
        pytest.param("size(object.a)", "int", id="function"),
        pytest.param("object.a.exists(x, x == 1)", "bool", id="loop"),
        pytest.param("object.?a.orValue(true)", None, id="optional"),
        pytest.param("authorizer.requestResource.check('get').allowed()", "bool", id="access"),
        pytest.param("null", "null_type", id="null"),
    ],
)
def test_the_type_of_an_expression_is_told(text: str, kind: str | None) -> None:
    assert result_type(parsed(text), NAMES) == kind
