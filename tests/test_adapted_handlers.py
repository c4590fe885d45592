"""The seam for adapted handlers: legacy_hooks and bind_tool (contract §1)."""

import pytest

from refengine.errors import HookError, HookReturnError, NoHookError
from refengine.profile import EINO_0_8, EINO_0_9, SEED_001
from refengine.struct_middleware import AgentMiddleware
from refengine.testing.points import point_of
from refengine.testing.wrapping import FactoryError
from refengine.tools import ToolMiddleware, ToolsConfig
from tests.support import DONE, Model, Pieces, Whole, build, calls, play, run


class Adapted:
    """A handler with these hooks that stands for fields of an older interface."""

    def __init__(self, names, /, **hooks):
        self.name = "adapted"
        self.hooks = frozenset(hooks)
        self.legacy_hooks = names
        for hook, method in hooks.items():
            setattr(self, hook, method)


class Own:
    """A handler that is not an adapted one."""

    name = "own"

    def before_agent(self, ctx, config):
        return ctx


def failing(*_):
    raise OSError("x")


def section(agent, title):
    lines = agent.explain().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(title))
    return lines[start + 1].strip()


def test_errors_tell_the_name_of_the_older_interface() -> None:
    hooks = {"before_model_rewrite_history": "before_chat_model"}
    handler = Adapted(hooks, before_model_rewrite_history=failing)

    with pytest.raises(HookError) as caught:
        play(handler)
    assert caught.value.hook == "before_chat_model"
    assert point_of(caught.value) == {"point": "before_chat_model", "text": "x"}


def test_a_wrong_result_is_told_by_the_same_point() -> None:
    error = HookReturnError("adapted", "after_chat_model", 1, "nothing")

    assert point_of(error) == {"point": "after_chat_model", "text": str(error)}


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        ("wrap_tool_call", {}),
        ("tool_call_middlewares", {"of": "adapted"}),
        ("wrap_invokable_tool_call", {"of": "adapted"}),
    ],
)
def test_a_factory_of_a_struct_has_no_name_that_others_know(hook, told) -> None:
    error = HookError("adapted", 0, hook, FactoryError("x"))

    assert point_of(error) == {"point": "wrap_invokable", "text": "x", **told}


def test_explain_tells_the_name_of_the_older_interface() -> None:
    hooks = {"after_model_rewrite_history": "after_chat_model"}
    handler = Adapted(hooks, after_model_rewrite_history=lambda c, m: (c, m))

    assert section(run(build(handler)), "after model") == "adapted · after_chat_model"


@pytest.mark.filterwarnings("ignore::refengine.MixedExtensionsWarning")
def test_adapted_after_hooks_stand_among_the_handlers() -> None:
    hooks = {"after_model_rewrite_history": "after_chat_model"}
    handler = Adapted(hooks, after_model_rewrite_history=lambda c, m: (c, m))
    struct = AgentMiddleware(after_chat_model=lambda ctx, state: None)
    agent = run(build(handler, middlewares=[struct], profile=EINO_0_8))

    assert section(agent, "after model") == "adapted · after_chat_model"


def test_a_name_for_a_hook_that_is_not_there_is_refused() -> None:
    handler = Adapted({"bind_tool": "wrap_tool_call"}, before_agent=lambda c, _: c)

    with pytest.raises(NoHookError, match="'bind_tool', which its legacy_hooks name"):
        run(build(handler))


def test_bind_tool_is_told_the_kind() -> None:
    seen = []

    def bind_tool(info, endpoint, kind):
        seen.append((info.name, kind))
        return endpoint

    play(Adapted({}, bind_tool=bind_tool), tools=[Whole("a"), Pieces("b")])

    assert sorted(seen) == [("a", "invokable"), ("b", "streamable")]


def endpoint_of(agent):
    return agent.machine.binder.invokable.bind(Whole().info)


@pytest.mark.parametrize("number", [1, 24, 25, 100])
def test_a_factory_that_hands_back_its_endpoint_adds_no_layer(number) -> None:
    same = ToolMiddleware(lambda inner: inner, lambda inner: inner)
    config = ToolsConfig(tool_call_middlewares=[same] * number)

    agent = run(build(tools_config=config))
    assert endpoint_of(agent) is endpoint_of(run(build()))


def made_in(turns, *handlers, profile):
    """Return how often a tool is bound in a run of that many tool turns."""
    made = []

    def bind_tool(info, endpoint, kind):
        made.append(kind)
        return endpoint

    model = Model(*[calls("t")] * turns, DONE)
    adapted = Adapted({"bind_tool": "wrap_tool_call"}, bind_tool=bind_tool)
    play(adapted, *handlers, model=model, tools=[Whole()], profile=profile)
    return len(made)


def test_adapted_handlers_alone_are_bound_once_a_run() -> None:
    assert made_in(3, profile=EINO_0_9) == 1
    assert made_in(3, Own(), profile=EINO_0_9) == 4
    assert made_in(3, Own(), profile=SEED_001) == 1


def adding(*tools):
    def before_agent(ctx, config):
        config.tools = [*config.tools, *tools]
        return ctx

    return before_agent


class RemovesAll:
    name = "removes all"

    def before_agent(self, ctx, config):
        config.tools = []
        return ctx


def shown(*handlers, profile):
    model = Model(DONE)
    play(*handlers, model=model, tools=[Whole("t")], profile=profile)
    return model.shown


def test_tools_of_leading_adapted_handlers_are_configured_ones() -> None:
    adapted = Adapted({}, before_agent=adding(Whole("more")))

    assert shown(adapted, RemovesAll(), profile=EINO_0_9) == ["t", "more"]
    assert shown(Own(), adapted, RemovesAll(), profile=EINO_0_9) == ["t"]
    assert shown(adapted, RemovesAll(), profile=SEED_001) == []


def test_flags_of_their_tools_are_configured_ones() -> None:
    from refengine.tools import ToolMeta

    flagged = ToolMeta(Whole("t"), return_directly=True)
    seen = []

    class Looks:
        name = "looks"

        def before_agent(self, ctx, config):
            seen.append(config.return_directly)
            return ctx

    play(Adapted({}, before_agent=adding(flagged)), Looks(), profile=EINO_0_9)

    assert seen == [{"t": True}]
