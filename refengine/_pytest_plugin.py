"""The pytest entry point: ``assert_migrates``, ``handler_cost``, options for engines.

    pytest --pyargs property_tests --engine NAME

judges engines by the conformance suite, a test for each checked clause. It imports
nothing of refengine until a test asks for the fixture or an option is used, so pytest
starts as fast with it as without, and a user's own folder that is called like one of
our packages is in nobody's way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest

HERE: Final = Path(__file__).parent.parent
SUITE: Final = "property_tests"
OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "--engine": {
            "action": "append",
            "metavar": "NAME",
            "help": "judge this engine: a name, module:factory or file.py:factory",
        },
        "--engine-clause": {
            "action": "append",
            "metavar": "ID",
            "help": "judge only these: an id, a family (ORD) or part of an id",
        },
        "--engine-profile": {"metavar": "NAME", "help": "judge under this profile"},
        "--engine-examples": {
            "type": int,
            "metavar": "N",
            "help": "generated worlds beside the fixed cases",
        },
        "--engine-seed": {
            "type": int,
            "metavar": "N",
            "help": "other numbers, other worlds",
        },
        "--engine-worlds": {
            "action": "append",
            "metavar": "FILE",
            "help": "sessions of your own: chats, scenarios, cassettes",
        },
        "--engine-known": {"metavar": "FILE", "help": "known failures, as TOML"},
    }
)
"""What can be asked for; none of it is there if somebody else has one of the names."""


@pytest.fixture(name="assert_migrates", scope="session")
def _assert_migrates() -> Callable[..., object]:
    """Fail if a migrated subject does not do what the old one did.

    ``assert_migrates(old, new, require="same-effects", examples=100, seed=0)``; a
    subject is a function of a module, a path, or a text as on the command line.
    """
    try:
        from compat.migration.assertion import assert_migrates  # noqa: PLC0415  # when it is asked for
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("compat"):
            raise
        pytest.fail(
            "assert_migrates: another package named 'compat' comes before refengine's"
            " on sys.path; run pytest from another folder or rename it",
            pytrace=False,
        )
    return assert_migrates


@pytest.fixture(name="handler_cost")
def _handler_cost(request: pytest.FixtureRequest) -> Callable[..., object]:
    """Measure handlers over no handler, as a row of pytest-benchmark's table.

    ``handler_cost(subject, history=10, stream=False)`` returns the ratio with its
    interval (``benchmarks.fixture``).
    """
    if not request.config.pluginmanager.hasplugin("benchmark"):
        from refengine.testing.machine import install_line  # noqa: PLC0415  # when it is missing

        pytest.fail(
            "handler_cost needs the plugin pytest-benchmark, of the extra 'bench':"
            f" {install_line('bench')}, and no '-p no:benchmark'",
            pytrace=False,
        )
    from benchmarks.fixture import HandlerCost  # noqa: PLC0415  # when it is asked for

    return HandlerCost(request.getfixturevalue("benchmark"))


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    parser: pytest.Parser,
) -> Generator[None, object, object]:
    """Add our options after the user's own, so that his ``--engine`` stays his."""
    loaded = yield
    names = [f"{name}=0" for name in OPTIONS]
    _, unknown = parser.parse_known_and_unknown_args(names)
    if unknown == names:
        group = parser.getgroup("refengine", "conformance of agent engines")
        for name, how in OPTIONS.items():
            group.addoption(name, dest=_dest(name), **how)
    return loaded


def pytest_configure(config: pytest.Config) -> None:
    """Bring in the suite if one of our options is used."""
    given = {_dest(name): config.getoption(_dest(name), None) for name in OPTIONS}
    used = any(value is not None for value in given.values())
    if used:
        _refuse_shadows()
    if used != _is_suite_named(config):
        raise pytest.UsageError(
            f"--engine judges by refengine's suite: add '--pyargs {SUITE}'"
            if used
            else f"{SUITE} judges engines: say which one by '--engine NAME'"
            " ('refengine conform --help' tells what a NAME can be)"
        )
    if used:
        from property_tests.pytest_suite import EngineTests  # noqa: PLC0415  # an option is used

        config.pluginmanager.register(EngineTests(config, given), "refengine-suite")


def _refuse_shadows() -> None:
    """Raise UsageError if another package is found under one of our names."""
    for name in ("compat", SUITE):
        found = _found(name)
        if found is not None and found != HERE / name:
            raise pytest.UsageError(
                f"--engine needs refengine's package {name!r}, but {found} comes before"
                " it on sys.path: rename that, or run pytest from another folder"
            )


def _is_suite_named(config: pytest.Config) -> bool:
    """Tell whether the suite, and not a user's folder of that name, is to be run."""
    targets = [arg.partition("::")[0] for arg in config.args]
    if config.option.pyargs and _found(SUITE) == HERE / SUITE:
        return any(target.partition(".")[0] == SUITE for target in targets)
    paths = [Path(config.invocation_params.dir, target) for target in targets]
    return any(path.resolve().is_relative_to(HERE / SUITE) for path in paths)


def _found(name: str) -> Path | None:
    """Return the folder or file of the package that an import would give."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin)
    return path.parent if path.name == "__init__.py" else path


def _dest(name: str) -> str:
    return f"refengine_{name.removeprefix('--').replace('-', '_')}"
