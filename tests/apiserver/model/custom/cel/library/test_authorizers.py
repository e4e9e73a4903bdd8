"""Expressions ask what a user may do."""

import pytest

from plimsoll.apiserver.model.custom.cel.library.authorizers import (
    AccessAnswer,
    AccessQuestion,
    AuthorizerValue,
    ResourceCheck,
)
from plimsoll.apiserver.model.custom.cel.program import compiled_program
from plimsoll.apiserver.model.custom.cel.values import CelError, Meter

REQUESTED = AccessQuestion(group="apps", resource="deployments", namespace="default", name="web")


def evaluated(text: str, asked: list[AccessQuestion]) -> object:
    def answer(question: AccessQuestion) -> AccessAnswer:
        asked.append(question)
        return AccessAnswer(question.verb == "get", f"asked to {question.verb}")

    authorizer = AuthorizerValue(answer)
    authorizer["requestResource"] = ResourceCheck(REQUESTED, answer)
    program = compiled_program(text, {"authorizer": None}, wants_truth=False)
    return program.value({"authorizer": authorizer}, Meter(1000))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        pytest.param(
            "authorizer.group('apps').resource('deployments').subresource('scale')"
            ".namespace('default').name('web').check('get')",
            AccessQuestion(
                verb="get",
                group="apps",
                resource="deployments",
                subresource="scale",
                namespace="default",
                name="web",
            ),
            id="resource",
        ),
        pytest.param(
            "authorizer.path('/healthz').check('get')",
            AccessQuestion(verb="get", path="/healthz"),
            id="path",
        ),
        pytest.param(
            "authorizer.serviceAccount('default', 'bot').group('').resource('pods')"
            ".fieldSelector('spec.nodeName=a').labelSelector('a=b').check('list')",
            AccessQuestion(
                account=("default", "bot"),
                verb="list",
                resource="pods",
                field_selector="spec.nodeName=a",
            ),
            id="account",
        ),
        pytest.param(
            "authorizer.requestResource.check('get')",
            AccessQuestion(
                verb="get", group="apps", resource="deployments", namespace="default", name="web"
            ),
            id="request",
        ),
    ],
)
def test_a_question_is_put_together_step_by_step(text: str, question: AccessQuestion) -> None:
    asked: list[AccessQuestion] = []
    evaluated(text, asked)
    assert asked == [question]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("authorizer.requestResource.check('get').allowed()", True),
        ("authorizer.requestResource.check('delete').allowed()", False),
        ("authorizer.requestResource.check('delete').reason()", "asked to delete"),
        ("authorizer.requestResource.check('get').errored()", False),
        ("authorizer.requestResource.check('get').error()", ""),
    ],
)
def test_the_answer_can_be_looked_at(text: str, value: object) -> None:
    assert evaluated(text, []) == value


@pytest.mark.parametrize(
    "text",
    [
        "authorizer.path('')",
        "authorizer.group('').check('get')",
        "authorizer.serviceAccount('default', 'A_B')",
        "authorizer.serviceAccount('a.b', 'bot')",
        "'text'.check('get')",
    ],
)
def test_what_makes_no_question_has_no_value(text: str) -> None:
    with pytest.raises(CelError):
        evaluated(text, [])
