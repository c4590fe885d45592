"""The Flow dialect, judged by commands; what all dialects share is judged beside it."""

import pytest

from compat.cli.main import main
from compat.engines.flow.reference import FlowDialect
from property_tests.dialects.decision import scenario_json
from property_tests.flow.flow_dialect import FLOW

QUICK = ("--examples", "0", "--jobs", "1")


def test_the_reference_refuses_no_fixed_world() -> None:
    for each in FLOW.fixed():
        FLOW.refuse(FlowDialect(), each.scenario)  # raises CapabilityError


def test_no_smaller_world_loses_what_ends_its_loop() -> None:
    child = {"name": "a", "script": [{"text": "x"}, {"text": "y"}]}
    loop = {"name": "w", "kind": "loop", "max_iterations": 2, "sub_agents": [child]}
    world = FLOW.read({"subject": "flow", "agent": loop, "turns": [{"text": "hi"}]})

    agents = [scenario_json(each)["agent"] for each in FLOW.smaller(world)]
    loops = [each for each in agents if "loop" in str(each)]

    assert loops
    assert [each for each in loops if "max_iterations" not in str(each)] == []


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Return the exit code and what was printed, in one line each."""
    with pytest.raises(SystemExit) as left:
        main([*arguments])
    code = left.value.code
    assert isinstance(code, int)
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


def test_the_command_judges_the_reference(capsys) -> None:
    code, out, _ = run(
        capsys,
        "conform",
        "flow",
        *QUICK,
        "--engine-profile",
        "adk-py-2",
        "-k",
        "FLOW-00",
    )

    assert code == 0
    assert "CONFORMANT flow, profile adk-py-2: 8 of 85 clauses judged" in out


def test_engines_and_dialects_are_not_judged_together(capsys) -> None:
    code, _, err = run(capsys, "conform", "flow", "reference")

    assert code == 2
    assert "flow is of dialect flow and reference is an engine" in err
    assert "judge one by one" in err


@pytest.mark.parametrize("option", ["--show-trace"])
def test_an_option_that_means_nothing_for_a_dialect_is_refused(capsys, option) -> None:
    code, _, err = run(capsys, "conform", "flow", option, "FLOW-001")

    assert code == 2
    assert f"{option} with flow, which is of dialect flow" in err


def test_a_clause_is_explained_by_a_mutant_in_a_small_world(capsys) -> None:
    code, out, _ = run(capsys, "clause", "explain", "FLOW-021")

    assert code == 0
    assert "A world that decides it:" in out
    assert "What flow-guard-recovered does in that world:" in out


def test_the_matrix_shows_mutants_of_a_dialect_beside_those_of_engines(capsys) -> None:
    code, out, _ = run(capsys, "mutant", "matrix", "-k", "FLOW-021")

    assert code == 0
    assert "flow-guard-recovered FLOW-021 FLOW-021" in out
    assert f"1 checked clause, {len(FLOW.fixed())} worlds" in out
    assert "1 of 1 mutant is killed by a clause it names" in out


def test_a_failure_of_a_dialect_is_written_and_played_again(capsys, tmp_path) -> None:
    wrong = "tests.test_flow_known:Selfish"
    given = ("--dialect", "flow", "--clause", "FLOW-112", "--failures", str(tmp_path))
    code, _, _ = run(capsys, "conform", wrong, *QUICK, *given)
    [file] = tmp_path.iterdir()
    again, out, _ = run(capsys, "failure", "replay", str(file), wrong)
    other, _, err = run(capsys, "failure", "replay", str(file), "flow")

    assert (code, again, other) == (1, 1, 2)
    assert "still fails: FLOW-112 on selfish (flow-safe)" in out
    assert "name 'selfish', or choose a file of 'flow'" in err
