"""Suites of Kubernetes become one program."""

from pathlib import Path

import pytest
from conformance.suites import program

TESTS = """\
package volume

func TestMain(m *testing.M) {}
func TestBinding(t *testing.T) {}
func Testing(t *testing.T) {}
func TestHelper(t *testing.T, size int) {}
func BenchmarkBinding(b *testing.B) {}
"""


@pytest.fixture
def kubernetes(tmp_path: Path) -> Path:
    suite = tmp_path / "test/integration/apiserver/volume"
    suite.mkdir(parents=True)
    (suite / "binding_test.go").write_text(TESTS)
    (suite / "fixtures.go").write_text("package volume\n")
    return tmp_path


def test_the_program_knows_each_test_that_go_would_run(kubernetes: Path) -> None:
    source = program.main_of(kubernetes, ["apiserver/volume"])

    assert 'suite0 "k8s.io/kubernetes/test/integration/apiserver/volume"' in source
    assert [line.strip() for line in source.splitlines() if "Name:" in line] == [
        '{Name: "TestBinding", F: suite0.TestBinding},'
    ]


def test_tests_are_laid_where_go_takes_them_for_code(kubernetes: Path) -> None:
    place = "test/integration/apiserver/volume/zz_plimsoll_binding_test_code.go"
    file = kubernetes / "test/integration/apiserver/volume/binding_test.go"

    assert program.tests_as_code(kubernetes, ["apiserver/volume"]) == {place: file}
