"""What names an engine, what it may say of itself, and what each mistake is told as."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from compat.engines.capabilities import (
    CAPABILITIES,
    CapabilityError,
    Refusing,
    refusal_of,
)
from compat.engines.importing import GENERIC, find, installed_engines
from compat.engines.load_errors import (
    AmbiguousEngineError,
    ArgumentsError,
    BrokenFactoryError,
    BrokenModuleError,
    EngineProfileError,
    LoadError,
    MissingDriverProgramError,
    MissingFileError,
    MissingModuleError,
    MissingNameError,
    NoProfileError,
    NotAnEngineError,
    NotAReferenceError,
    NotCallableError,
    NotInstalledError,
    UnknownCapabilityError,
    UnknownEngineError,
)
from compat.engines.loading import load_engine
from compat.engines.needs import hidden_needs
from compat.profiles.comparing import scenarios
from refengine.errors import UnknownProfileError
from refengine.profile import PROFILES, SEED_001
from refengine.testing.clock import run
from refengine.testing.scenario_files import read_scenario
from refengine.testing.session import play

ROOT = Path(__file__).parent.parent
DOORS = {
    "reference": ("seed-001", 40),
    "reference-adapted": ("seed-001", 40),
    "reference-legacy": ("eino-0.7", 30),
    "langchain": ("langchain-1", 18),
    "langgraph": ("langgraph-prebuilt-1", 14),
    "openai-agents": ("openai-agents-0", 13),
    "pydantic-ai": ("pydantic-ai-2", 17),
    "strands": ("strands-1", 19),
}
DIALECT_DOORS = (
    *("flow", "google-adk", "stream-loop", "stream-loop-linear"),
    *("callbacks", "callbacks-v1"),
    *("typescript-loop", "typescript-loop-sketch"),
    *("typescript-callbacks", "typescript-callbacks-sketch"),
)
DRIVER_DOORS = (
    *(f"eino@{each}" for each in ("0.7.17", "0.7.37", "0.8.13", "0.9.13")),
    *("adk-go@0.4.0", "adk-go@0.5.0", "langchain-js@1", "langchain4j@1"),
    "rig@0.44",
    *(f"ai-sdk@{each}" for each in (4, 5, 6, 7)),
)
ENGINE = """
class Engine:
    name = "mine"

    async def build(self, config, on_notice):
        raise NotImplementedError
"""


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch, tmp_path):
    """Run each test in a folder of its own, and forget what it imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = dict(sys.modules)
    yield
    for name in set(sys.modules) - set(before):
        del sys.modules[name]
    sys.modules.update(before)


def written(text: str = ENGINE, file: str = "mine.py") -> Path:
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def refused(name: str, kind: type[LoadError], profile: str | None = None) -> str:
    with pytest.raises(kind) as caught:
        load_engine(name, profile)
    return str(caught.value)


@pytest.mark.parametrize("name", DOORS)
def test_an_installed_engine_says_all_of_itself(name) -> None:
    loaded = load_engine(name)

    assert (loaded.profile.name, len(loaded.capabilities)) == DOORS[name]
    assert loaded.name == loaded.asked == name
    assert loaded.assumed == ()


def test_the_installed_engines_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    named = set(project["entry-points"]["refengine.engines"])
    assert named == {*DOORS, *DIALECT_DOORS, *DRIVER_DOORS}
    assert set(DOORS) <= set(installed_engines())


@pytest.mark.parametrize("under", [each.name for each in PROFILES])
def test_the_reference_engine_takes_any_profile(under) -> None:
    assert load_engine("reference", under).profile.name == under
    assert load_engine("reference-adapted", under).profile.name == under


@pytest.mark.parametrize("name", ["mine:Engine", "mine.py:Engine"])
def test_an_engine_of_the_users_is_found_beside_him(name) -> None:
    written()
    loaded = load_engine(name)

    assert (loaded.name, loaded.asked, loaded.version) == ("mine", name, "")
    assert loaded.profile == SEED_001
    assert loaded.capabilities == frozenset(CAPABILITIES)
    assert loaded.assumed == ("profile", "capabilities", "version")


def test_a_file_finds_its_neighbours() -> None:
    written("NAME = 'beside'", "sub/neighbour.py")
    written("from neighbour import NAME" + ENGINE, "sub/mine.py")

    assert load_engine("sub/mine.py:Engine").name == "mine"


def test_a_file_that_is_called_like_a_module_in_use_is_its_own() -> None:
    written(ENGINE, "json.py")

    assert load_engine("json.py:Engine").name == "mine"
    assert sys.modules["json"].__name__ == "json"
    assert hasattr(sys.modules["json"], "dumps")


def test_a_function_may_give_the_engine() -> None:
    written(ENGINE + "def make():\n    return Engine()")

    assert load_engine("mine:make").name == "mine"


def test_what_an_engine_says_of_itself_is_taken_over() -> None:
    says = (
        '    profile = "eino-0.8"\n    capabilities = ["wrap_tool"]\n    version = 3\n'
    )
    written(ENGINE + says)
    loaded = load_engine("mine:Engine")

    assert loaded.profile.name == "eino-0.8"
    assert loaded.capabilities == {"wrap_tool"}
    assert (loaded.version, loaded.assumed) == ("3", ())


def test_a_profile_is_handed_to_a_factory_that_takes_one() -> None:
    takes = "    def __init__(self, profile=None):\n        self.profile = profile\n"
    written(ENGINE + takes)

    assert load_engine("mine:Engine", "eino-0.9").profile.name == "eino-0.9"
    assert load_engine("mine:Engine").assumed[0] == "profile"


def test_a_misspelt_name_is_told_with_what_there_is() -> None:
    told = refused("referense", UnknownEngineError)

    assert "did you mean 'reference'?" in told
    assert "langgraph, openai-agents, pydantic-ai, reference, reference-adapted" in told
    assert "module:factory" in told


def test_two_packages_with_one_name_are_told_apart_by_module(monkeypatch) -> None:
    point = "[refengine.engines]\nreference = json:JSONDecoder\n"
    written(point, "other-1.0.dist-info/entry_points.txt")
    meta = "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n"
    written(meta, "other-1.0.dist-info/METADATA")
    monkeypatch.syspath_prepend(str(Path.cwd()))

    told = refused("reference", AmbiguousEngineError)
    assert "json:JSONDecoder" in told
    assert "compat.engines.reference:ReferenceDoor" in told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mine.py", "does not say which factory"),
        ("mine:", "does not say which factory"),
        (":make", "does not say which factory"),
        ("mine:the engine", "is not the name of a factory"),
        ("my engine:make", "is neither a module nor a .py file"),
    ],
)
def test_a_text_of_no_form_is_refused_with_the_forms(text, why) -> None:
    told = refused(text, NotAReferenceError)

    assert why in told
    assert "module:factory or file.py:factory" in told


def test_a_missing_file_is_told_with_its_neighbour() -> None:
    written(file="engines/mine.py")

    told = refused("engines/mime.py:Engine", MissingFileError)
    assert told.endswith("no file engines/mime.py (did you mean 'engines/mine.py'?)")


def test_a_missing_module_is_told_with_its_neighbour() -> None:
    written()

    told = refused("mime:Engine", MissingModuleError)
    assert "there is no module 'mime' (did you mean 'mine'?)" in told


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = 1\nimport nowhere", "No module named 'nowhere' (mine.py, line 2)"),
        ("x = 1\n\nraise ValueError('no')", "ValueError: no (mine.py, line 3)"),
        ("import sys\nsys.exit(3)", "SystemExit: 3 (mine.py, line 2)"),
        ("class Engine:\n  def x(:", "SyntaxError: invalid syntax (mine.py, line 2)"),
        ("from . import x", "name it as a module: package.module:factory"),
    ],
)
@pytest.mark.parametrize("name", ["mine:Engine", "mine.py:Engine"])
def test_a_module_that_breaks_is_told_with_the_users_line(name, source, told) -> None:
    if source.startswith("from .") and name == "mine:Engine":
        source = "from .b import x"
    written(source)

    assert told in refused(name, BrokenModuleError)


def test_a_missing_factory_is_told_with_what_can_be_called() -> None:
    written(ENGINE + "def other(): ...")

    told = refused("mine:Engin", MissingNameError)
    assert "has no 'Engin' (did you mean 'Engine'?)" in told
    assert "can be called there: Engine, other" in told


def test_an_object_instead_of_a_class_is_told_what_to_name() -> None:
    written(ENGINE + "engine = Engine()\nnumber = 3")

    assert "is an engine already: name its class" in refused(
        "mine:engine", NotCallableError
    )
    assert "number, of type int, is neither a class nor a function" in refused(
        "mine:number", NotCallableError
    )


def test_a_profile_for_a_factory_that_takes_none_is_refused() -> None:
    told = refused("langchain", NoProfileError, "seed-001")

    assert "takes no profile, and 'seed-001' is asked for: leave it out" in told


def test_a_factory_that_asks_for_arguments_is_refused_before_it_is_called() -> None:
    written("def make(url, key):\n    raise AssertionError")

    told = refused("mine:make", ArgumentsError)
    assert "takes (url, key), but an engine is made without arguments" in told


@pytest.mark.parametrize(
    ("raised", "told"), [("ValueError('no key')", "no key"), ("SystemExit(3)", "3")]
)
def test_what_a_factory_raises_is_told_with_the_users_line(raised, told) -> None:
    written(f"def make():\n    raise {raised}")

    assert f"{told} (mine.py, line 2)" in refused("mine:make", BrokenFactoryError)


def test_an_engine_whose_packages_are_missing_says_what_to_install() -> None:
    missing = "raise MissingExtraError('mine', 'langchain', 'langchain')"
    imports = "from compat.engines.capabilities import MissingExtraError\n"
    written(f"{imports}def make():\n    {missing}")

    told = refused("mine:make", NotInstalledError)
    assert "which is not installed: pip install 'langchain" in told


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "def make(): return 7",
            "an object of int, not an engine: it has no method",
        ),
        ("async def make(): ...", "the factory is async"),
        (ENGINE + "def make(): return Engine", "returned a class: return an object"),
        ("class make:\n  name='m'\n  def build(self, c, n): ...", "build is not async"),
        ("class make:\n  name='m'\n  async def build(self, c): ...", "its build takes"),
        ("class make:\n  async def build(self, c, n): ...", "its name is None"),
        (ENGINE + "    capabilities = 'all'\nmake = Engine", "capabilities are 'all'"),
    ],
)
def test_what_is_no_engine_is_told_why(source, why) -> None:
    written(source)

    assert why in refused("mine:make", NotAnEngineError)


def test_an_unknown_capability_is_told_with_all_there_are() -> None:
    written(ENGINE + "    capabilities = ['wrap_tools']")

    told = refused("mine:Engine", UnknownCapabilityError)
    assert "'wrap_tools', which there is not (did you mean 'wrap_tool'?)" in told
    assert all(each in told for each in CAPABILITIES)


@pytest.mark.parametrize("said", ["'seed-01'", "7"])
def test_a_profile_that_is_none_is_refused(said) -> None:
    written(ENGINE + f"    profile = {said}")

    assert "has the profile" in refused("mine:Engine", EngineProfileError)


def test_an_engine_that_does_not_take_over_its_profile_is_refused() -> None:
    stays = "    profile = 'eino-0.8'\n    def __init__(self, profile=None): ...\n"
    written(ENGINE + stays)

    told = refused("mine:Engine", EngineProfileError, "seed-001")
    assert "'seed-001' was asked for, so profile= must be taken over" in told


def test_a_profile_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnknownProfileError, match="did you mean 'seed-001'"):
        load_engine("reference", "seed-01")


@pytest.mark.parametrize("package", GENERIC)
@pytest.mark.parametrize("name", ["mine:Engine", "mine.py:Engine"])
def test_a_users_own_package_of_our_name_is_his_and_ours_stays_ours(
    name, package
) -> None:
    written("", f"{package}/__init__.py")
    written("NAME = 'his'", f"{package}/helpers.py")
    body = f"from {package}.helpers import NAME\n{ENGINE}    version = NAME\n"
    written(body)
    ours = sys.modules.get(package, None)

    assert load_engine(name).version == "his"
    assert f"{package}.helpers" not in sys.modules
    assert Path(str(sys.modules[package].__file__)).is_relative_to(ROOT)
    assert ours in {None, sys.modules[package]}
    assert load_engine("reference").name == "reference"


def test_what_an_engine_prints_when_it_is_loaded_is_no_mistake(capfd) -> None:
    written(f"import sys\nprint('hello', file=sys.stderr)\n{ENGINE}")

    assert load_engine("mine:Engine").name == "mine"
    assert capfd.readouterr().err == "hello\n"


def scenario(**agent):
    runs = [{"input": ["user:hi"]}]
    return read_scenario(
        {"agent": agent, "model_script": ["assistant:ok"], "runs": runs}
    )


LESS = """
from compat.engines.reference import ReferenceDoor

class Less(ReferenceDoor):
    capabilities = {"before_model"}

    def __init__(self):
        super().__init__()
"""


def test_an_engine_that_declares_less_is_not_asked_for_more() -> None:
    written(LESS)
    loaded = load_engine("mine:Less")
    asked = scenario(handlers=[{"id": "h", "after_model": [{"op": "record"}]}])

    assert isinstance(loaded.engine, Refusing)
    assert "does not declare 'after_model'" in str(
        refusal_of(run(play(asked, loaded.engine)))
    )


def test_an_engine_that_declares_less_is_asked_for_what_it_declares() -> None:
    written(LESS)
    asked = scenario(handlers=[{"id": "h", "before_model": [{"op": "record"}]}])
    trace = run(play(asked, load_engine("mine:Less").engine))

    assert refusal_of(trace) is None
    assert trace.of("hook_enter")


def test_a_run_with_options_is_refused_if_there_is_no_place_for_them() -> None:
    written(LESS)
    asked = scenario()
    options = asked.runs[0].model_copy(update={"options": {"a": 1}})
    asked = asked.model_copy(update={"runs": (options,)})
    trace = run(play(asked, load_engine("mine:Less").engine))

    assert "'run_options'" in str(refusal_of(trace))
    assert not trace.of("model_request")


def test_an_engine_that_declares_all_is_the_very_object() -> None:
    assert not isinstance(load_engine("reference").engine, Refusing)


@pytest.mark.parametrize(
    ("agent", "rest", "needed"),
    [
        ({}, {}, set()),
        (
            {
                "handlers": [
                    {"before_agent": [{"op": "append_instruction", "text": "x"}]}
                ]
            },
            {},
            {"edited_config"},
        ),
        (
            {
                "handlers": [
                    {"before_model": [{"op": "ctx_append", "key": "h", "text": "x"}]}
                ]
            },
            {},
            {"context"},
        ),
        (
            {
                "middlewares": [
                    {
                        "wrap_tool_call": {
                            "invokable": {
                                "by_tool": {
                                    "t": {"ctx_append": {"key": "h", "text": "x"}}
                                }
                            }
                        }
                    }
                ]
            },
            {},
            {"context"},
        ),
        (
            {"tool_call_middlewares": [{"rewrite_args": "no json"}]},
            {},
            {"arguments_text"},
        ),
        ({}, {"model_script": ["assistant:[1:t([])]"]}, {"arguments_text"}),
        ({}, {"model_script": ["assistant:[1:t({})]"]}, set()),
        ({}, {"runs": [{"options": {"a": 1}}]}, {"run_options"}),
        ({"handlers": [{"wrap_model": {}}]}, {"runs": [{}]}, set()),
        (
            {"handlers": [{"wrap_model": {}}]},
            {"runs": [{"streaming": True}]},
            {"streamed_model_wraps", "streaming"},
        ),
    ],
)
def test_a_scenario_tells_what_no_configuration_shows(agent, rest, needed) -> None:
    asked = read_scenario({"agent": agent, **rest})

    assert {capability for capability, _ in hidden_needs(asked)} == needed


def test_what_a_scenario_needs_is_what_the_doors_refuse_while_it_is_played() -> None:
    engine = load_engine("langchain").engine
    assert isinstance(engine, Refusing)
    for posture, found in scenarios().items():
        for each in found:
            asked = read_scenario(each, posture)
            lacks = {n for n, _ in hidden_needs(asked)} - engine.capabilities
            told = refusal_of(run(play(asked, engine)))

            assert told is not None or not lacks, (posture, lacks)


def test_a_refusal_says_what_to_do() -> None:
    told = str(CapabilityError("mine", "context", "handlers[0]"))

    assert "play this scenario on another engine, or leave that out of it" in told


@pytest.mark.parametrize("command", ["no-such-program --now", "", "'python"])
def test_command_that_names_no_program_is_told(command: str) -> None:
    with pytest.raises(MissingDriverProgramError, match="there is no program"):
        find(f"cmd:{command}")


OF_EXTRAS = {
    "langchain.LangChainEngine": ("langchain_core", "langchain"),
    "langgraph.LangGraphEngine": ("langchain_core", "langchain"),
    "openai_agents.doors.engine": ("agents", "openai-agents"),
    "pydantic_ai.doors.engine": ("pydantic_ai", "pydantic-ai-slim"),
    "strands.doors.engine": ("strands", "strands-agents"),
}
"""Doors to frameworks: a package that each needs, and what brings it."""


def python(code: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-c", code]
    return subprocess.run(line, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("door", OF_EXTRAS)
def test_importing_a_door_loads_no_framework(door: str) -> None:
    module = door.rpartition(".")[0]
    theirs = ("agents", "langchain", "langgraph", "openai", "pydantic_ai", "strands")
    done = python(
        f"import sys, compat.engines.{module};"
        f"print([m for m in sys.modules if m.startswith({theirs})])"
    )

    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("door", OF_EXTRAS)
def test_an_absent_package_is_told_with_its_extra(door: str) -> None:
    module, _, name = door.rpartition(".")
    package, brings = OF_EXTRAS[door]
    done = python(
        f"import asyncio, sys; sys.modules[{package!r}] = None\n"
        f"from compat.engines.{module} import {name}\n"
        "from refengine import ChatModelAgentConfig\n"
        "config = ChatModelAgentConfig(name='a', description='', model=None)\n"
        f"print({name}().name)\n"
        f"asyncio.run({name}().build(config, print))"
    )
    engine = done.stdout.strip()

    assert done.returncode == 1
    assert f"MissingExtraError: engine {engine!r} needs {package}" in done.stderr
    assert f"pip install '{brings}" in done.stderr
