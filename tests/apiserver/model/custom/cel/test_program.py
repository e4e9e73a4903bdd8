"""Expressions and their values: the language, and Kubernetes' library."""

import contextlib
import re

import pytest

from plimsoll.apiserver.model.custom.cel.checking import Places
from plimsoll.apiserver.model.custom.cel.program import CompilationError, compiled_program
from plimsoll.apiserver.model.custom.cel.values import BudgetError, CelError, Meter
from plimsoll.apiserver.model.custom.nodes import compiled_schema
from tests.garbage import garbage_of

SELF = {
    "a": 1,
    "name": "abcd",
    "items": [{"name": "a", "size": 1}, {"name": "b", "size": 2}],
    "labels": {"x1": "y", "x2": "y"},
    "with-dash": 5,
    "namespace": "n",
    "many": list(range(300)),
}

TYPED = {
    "type": "object",
    "properties": {
        "flag": {"type": "boolean"},
        "texts": {"type": "array", "items": {"type": "string"}},
        "numbers": {"type": "object", "additionalProperties": {"type": "integer"}},
        "either": {"x-kubernetes-preserve-unknown-fields": True},
        "maybe": {"type": "array", "nullable": True, "items": {"type": "string"}},
    },
}


def value(text: str, steps: int = 300_000, **more: object) -> object:
    program = compiled_program(text, dict.fromkeys(("self", *more)), wants_truth=False)
    return program.value({"self": SELF} | more, Meter(steps))


TRUE = """
-9223372036854775808 < 0 && 18446744073709551615u > 0u && {true: 1, 'a': 2}.size() == 2
{true: 1, false: 2}[false] == 2 && !(dyn(true) in {1: 2}) && {1: 2}[dyn(1u)] == 2 && dyn(1) in {1: 2}
timestamp(253402300799) == timestamp('9999-12-31T23:59:59Z') && dyn({1: 2})[1.0] == 2
1 + 2 * 3 == 7 && -7 / 2 == -3 && -7 % 2 == -1 && 7.0 / 2.0 == 3.5
1u + 2u == 3u && 0x10 == 16 && 1e3 == 1000.0 && dyn(1) == dyn(1.0) && 1 < 1.5
'a' + "b" == 'ab' && r'\\d' == '\\\\d' && b'abc' == bytes('abc') && '\\u00e9' == 'é'
'''a
b''' == 'a\\nb'
'''a\\\\''' == 'a\\\\' && '''\\\'''' == \"'\" && r'a\\' == 'a\\\\' && r'''\\''' == '\\\\' && br'\\' == b'\\\\'
[1, 2] + [3] == [1, 2, 3] && {'a': 1}['a'] == 1 && 2 in [1, 2] && 'a' in {'a': 1}
true ? 1 == 1 : 1 / 0 == 1
true || 1 / 0 == 1
1 / 0 == 1 || true
!(false && 1 / 0 == 1)
has(self.a) && !has(self.zz)
self.with__dash__dash == 5 && self.__namespace__ == 'n' && self['with-dash'] == 5
self.items.all(x, x.size > 0) && self.items.exists(x, x.name == 'b')
self.items.exists_one(x, x.name == 'b') && self.items.filter(x, x.size > 1).size() == 1
self.items.map(x, x.name) == ['a', 'b'] && self.items.map(x, x.size > 1, x.name) == ['b']
self.labels.all(k, k.startsWith('x')) && self.labels.all(k, v, v == 'y')
self.items.transformList(i, x, x.size + i) == [1, 3]
self.labels.transformMap(k, v, v + k) == {'x1': 'yx1', 'x2': 'yx2'}
cel.bind(x, self.a + 1, x + x) == 4
self.?a.orValue(7) == 1 && self.?zz.orValue(7) == 7 && self.?zz.?b.hasValue() == false
optional.of(1).value() == 1 && !optional.none().hasValue() && optional.none().or(optional.of(2)).value() == 2
[1, ?self.?zz, ?self.?a] == [1, 1] && self.items[?5].hasValue() == false
optional.of(3).optMap(x, x + 1).value() == 4
type(1) == int && type('a') == string && int('5') == 5 && string(1.5) == '1.5' && double('2') == 2.0
size('abc') == 3 && 'abc'.size() == 3 && size([1]) == 1
'abc'.contains('b') && 'abc'.endsWith('c') && 'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b'
'abc'.substring(1) == 'bc' && 'abc'.substring(0, 1) == 'a' && 'abc'.charAt(1) == 'b' && 'aXa'.lowerAscii() == 'axa'
'abcabc'.indexOf('c') == 2 && 'abcabc'.lastIndexOf('c') == 5 && 'aab'.replace('a', 'x', 1) == 'xab' && ' a '.trim() == 'a'
'%s has %d of %.1f'.format(['x', 3, 1.25]) == 'x has 3 of 1.2'
'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1']
'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac'.matches('(a+)+b') == false
[1, 2, 3].sum() == 6 && [3, 1].min() == 1 && [3, 1].max() == 3 && [1, 2].isSorted() && [1, 2, 1].lastIndexOf(1) == 2
sets.contains([1, 2], [1]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])
quantity('1Gi').isGreaterThan(quantity('1Mi')) && quantity('1.5Gi').add(quantity('0.5Gi')).compareTo(quantity('2Gi')) == 0
isQuantity('1Gi') && !isQuantity('x') && quantity('2k').asInteger() == 2000 && quantity('5').sub(2).sign() == 1
ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('x') && ip('127.0.0.1').isLoopback()
cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.0.0/16').prefixLength() == 16
url('https://a.b:80/p?q=1').getHostname() == 'a.b' && url('https://a.b:80/p').getPort() == '80' && isURL('/x')
format.dns1123Label().validate('Ab').hasValue() && !format.named('uuid').value().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()
semver('1.2.3').isLessThan(semver('1.10.0')) && isSemver('1.0.0') && semver('v1.2', true).minor() == 2 && semver('1.0.0-a').isLessThan(semver('1.0.0'))
duration('1h30m') < duration('2h') && duration('90s').getMinutes() == 1
timestamp('2020-01-01T00:00:00Z').getFullYear() == 2020 && timestamp('2020-01-01T00:00:00Z') + duration('24h') == timestamp('2020-01-02T00:00:00Z')
timestamp('2020-01-01T00:00:00Z').getHours('+02:00') == 2
"""  # noqa: E501 one case a line


def lines() -> list[str]:
    joined = TRUE.strip().replace("'''a\nb'''", "'''a\0b'''")
    return [line.replace("\0", "\n") for line in joined.splitlines()]


@pytest.mark.parametrize("text", lines())
def test_an_expression_has_its_value(text: str) -> None:
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0 == 1", "division by zero"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ("self.zz == 1", "no such key: zz"),
        ("self.items[7]", "index out of bounds: 7"),
        ("1 + 'a'", "no such overload"),
        ("'a' < 1", "no such overload"),
        ("self.a.b", "no such overload"),
        ("optional.none().value()", "optional.none() dereference"),
        ("[].max()", "max called on empty list"),
        ("quantity('x')", "quantities must match"),
        ("timestamp(9223372036854775807)", "timestamp overflow"),
        ("timestamp(-62135596801)", "timestamp overflow"),
        ("{[1]: 1}.size() == 1", "unsupported key type"),
        ("{self: 1}.size() == 1", "unsupported key type"),
        ("{1.5: 1}.size() == 1", "unsupported key type"),
        ("{?'a': 1}.size() == 1", "no such overload"),
        ("[?1].size() == 1", "no such overload"),
        ("self.items[1.0 / 0.0]", "no such overload"),
        ("self.items[0.0 / 0.0]", "no such overload"),
        ("self.labels[optional.of([1])]", "no such overload"),
        ("ip('x')", "does not appear to be"),
        ("'a'.matches('(')", "error parsing regexp"),
        ("{1: 2}[dyn(true)]", "no such key: true"),
        ("{0: 2}[dyn(false)]", "no such key: false"),
        ("{true: 2}[dyn(1)]", "no such key: 1"),
        ("{1: 2, dyn(true): 3}.size() == 2", "unsupported key type"),
    ],
)
def test_an_expression_without_a_value_says_why(text: str, said: str) -> None:
    with pytest.raises(CelError, match=said.replace("(", r"\(").replace(")", r"\)")):
        value(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("self.", "Syntax error"),
        ("1 +", "Syntax error"),
        ("foo(1)", "undeclared reference to 'foo'"),
        ("other == 1", "undeclared reference to 'other'"),
        ("self.a.frobnicate()", "undeclared reference to 'frobnicate'"),
        ("'abc' + 'd'", "must evaluate to a bool"),
        ("(" * 100 + "true" + ")" * 100, "nested"),
        ("true" + " && true" * 500, "in a row"),
        ("'" + "a" * 20_000 + "' == ''", "characters"),
        (r"'\ud800' == ''", "invalid unicode code point"),
        (r"'\U0000dfff' == ''", "invalid unicode code point"),
        ("9223372036854775809 > 1", "invalid int literal"),
        ("18446744073709551616u > 1u", "invalid uint literal"),
        ("package == 1", "reserved identifier"),
    ],
)
def test_what_is_no_rule_is_refused_before_it_runs(text: str, said: str) -> None:
    with pytest.raises(CompilationError, match=said):
        compiled_program(text, {"self": None})


def test_fields_are_looked_up_in_the_schema() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": item},
            "map": {"type": "object", "additionalProperties": item},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
        },
    }
    places: Places = {"self": compiled_schema(schema)}
    for good in (
        "self.list.all(x, x.name == '')",
        "self.map.all(k, v, v.name == k)",
        "self.map['a'].name == ''",
        "self.free.any.thing == 1",
    ):
        compiled_program(good, places)
    for bad in (
        "self.lists.size() == 0",
        "self.list.all(x, x.names == '')",
        "self.list[0].nam == ''",
        "cel.bind(l, self.list, l.exists(x, x.n == ''))",
    ):
        with pytest.raises(CompilationError, match="undefined field"):
            compiled_program(bad, places)


@pytest.mark.parametrize(
    ("text", "operator", "types"),
    [
        ("{1: 2}[true] == 2", "_[_]", "map(int, int), bool"),
        ("{true: 2}[1] == 2", "_[_]", "map(bool, int), int"),
        ("{1: 2}[1.0] == 2", "_[_]", "map(int, int), double"),
        ("['a'][true] == 'a'", "_[_]", "list(string), bool"),
        ("true[1] == 1", "_[_]", "bool, int"),
        ("{1: 2}[self.flag] == 2", "_[_]", "map(int, int), bool"),
        ("self.texts[true] == ''", "_[_]", "list(string), bool"),
        ("self.numbers[1] == 1", "_[_]", "map(string, int), int"),
        ("true in {1: 2}", "@in", "bool, map(int, int)"),
        ("true in [1]", "@in", "bool, list(int)"),
    ],
)
def test_a_key_of_another_type_is_refused_before_it_is_looked_up(
    text: str, operator: str, types: str
) -> None:
    said = f"found no matching overload for '{operator}' applied to '({types})'"
    with pytest.raises(CompilationError, match=re.escape(said)):
        compiled_program(text, {"self": compiled_schema(TYPED)})


@pytest.mark.parametrize(
    "text",
    [
        "{1: 2}[1] == 2 && 1 in [1] && 'a' in {'a': 1}",
        "{1: 2}[dyn(true)] == 2",
        "[1, 'a'][dyn(0)] == 1",
        "self.texts[0] == '' && self.numbers['a'] == 1",
        "self.either[0] == 1 || self.maybe['a'] == 1",
        "'a' in self.texts && 'a' in self.numbers",
    ],
)
def test_keys_whose_types_fit_or_are_not_known_are_looked_up(text: str) -> None:
    compiled_program(text, {"self": compiled_schema(TYPED)})


def doubled(times: int) -> str:
    """A text that is twice as long with every step."""
    text = "a0"
    for step in range(times, 0, -1):
        text = f"cel.bind(a{step}, a{step - 1} + a{step - 1}, {text.replace('a0', f'a{times}')})"
    return f"cel.bind(a0, self.name, {text}) == ''"


@pytest.mark.parametrize(
    "text",
    ["self.many.all(x, self.many.all(y, self.many.all(z, x + y + z >= 0)))", doubled(30)],
    ids=["loops", "texts"],
)
def test_no_expression_runs_for_long(text: str) -> None:
    with pytest.raises(BudgetError):
        value(text)


@pytest.mark.parametrize(
    "text",
    ["1 / 0 == 1 || false", "self.items.all(x, x.zz)", "self.items.exists(x, 1 / 0 == 1)"]
    + [f"{kind}('x') == {kind}('x')" for kind in ("int", "uint", "double")],
)
def test_an_expression_without_a_value_leaves_no_garbage(text: str) -> None:
    """It would keep the object until the collector comes, which large requests put off."""

    program = compiled_program(text, {"self": None})

    def fail() -> None:
        with contextlib.suppress(CelError):
            program.value({"self": SELF}, Meter(1000))

    fail()
    assert garbage_of(fail) == 0
