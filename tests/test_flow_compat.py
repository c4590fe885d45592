"""FLOW-COMPAT: ported worlds do what they did, and wrong ports are found.

The long search is a command of its own: python -m tools.flow_ports
"""

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, Phase, find, settings

from compat.adapters.flow import callbacks_to_plugins, changes_of
from compat.adapters.flow.plugins import CALLBACK_HOOKS, ported
from compat.dialects.flow import Plugin, flow_profile
from compat.dialects.flow.profile import FLOW_PROFILES
from compat.engines.flow.doors import FLOW_CAPABILITIES
from compat.engines.flow.playing import play_flow
from compat.engines.flow.reference import DialectWorld, FlowDialect
from refengine.testing import first_divergence
from tests.flow_port_worlds import SMALLEST, outside
from tools.flow_ports import main, port_worlds, porting_divergence, search

SAFE, PY_1 = flow_profile("flow-safe"), flow_profile("adk-py-1")


@pytest.mark.parametrize("profile", FLOW_PROFILES, ids=lambda each: each.name)
def test_callbacks_as_a_plugin_leave_the_trace_that_they_left(profile) -> None:
    assert search(profile, 10) == 10


def test_the_search_is_a_command(capsys) -> None:
    assert main(["--worlds", "1"]) == 0
    assert "flow-safe: 1 worlds, no divergence" in capsys.readouterr().out


@pytest.mark.parametrize("cause", SMALLEST)
def test_a_smallest_world_shows_what_a_port_by_hand_changes(cause) -> None:
    shown = SMALLEST[cause]
    engine = FlowDialect(shown.profile)

    old = outside(play_flow(shown.world, engine))
    new = outside(play_flow(shown.moved, engine))

    assert first_divergence(old, new) is not None
    # The port itself does not change it, but where no plugin can do otherwise.
    again = play_flow(shown.world, FlowDialect(shown.profile, ported))
    same = first_divergence(old, outside(again)) is None
    assert same == (cause not in {"error_class", "lost_state"})


@pytest.mark.parametrize("cause", SMALLEST)
def test_the_change_that_a_smallest_world_shows_is_told_by_name(cause) -> None:
    shown = SMALLEST[cause]
    world = Built(flow_profile(shown.profile))
    play_flow(shown.world, world)
    [root] = world.roots
    scope = "runner" if cause in {"scope", "empty_mapping"} else "agent"

    told = changes_of(
        root, flow_profile(shown.profile), moving=[shown.place], scope=scope
    )

    assert (cause, shown.place) in {(each.cause, each.place) for each in told}


class Built:
    """The reference, which keeps the agents that it was given."""

    name, version = "flow", ""
    capabilities = frozenset(FLOW_CAPABILITIES)

    def __init__(self, profile):
        self.profile, self.roots = profile, []

    def open(self, world):
        return DialectWorld(world, self.profile, self._port)

    def _port(self, root, profile, plugins):
        self.roots.append(root)
        return root, plugins


# Wrong ports


@dataclass(frozen=True)
class WrongPort(Built):
    """The reference with a port that somebody got wrong."""

    profile: object
    wrong: object

    def _port(self, root, profile, plugins):
        return self.wrong(root, plugins, self.profile)


def right(root, plugins, profile):
    try:
        port = callbacks_to_plugins(root, profile, plugins)
    except LookupError:
        return root, None, list(plugins)
    return port.root, port.plugins[-1], list(port.plugins[:-1])


def first(root, plugins, profile):
    """Put the plugin in front of those that are there."""
    left, made, others = right(root, plugins, profile)
    return left, others if made is None else [made, *others]


def hookless(hook):
    """Lose the callbacks of one hook."""

    def port(root, plugins, profile):
        left, made, others = right(root, plugins, profile)
        return left, others if made is None else [
            *others,
            replace(made, **{hook: None}),
        ]

    return port


def for_all(root, plugins, _):
    """Move each function as it is, whoever else runs."""
    moved, names = [], iter(range(1000))

    def strip(agent):
        below = [strip(each) for each in agent.sub_agents]
        hooks = {x: getattr(agent, x) for x in CALLBACK_HOOKS if hasattr(agent, x)}
        for hook, found in hooks.items():
            moved.extend(
                Plugin(name=f"moved-{next(names)}", **{hook: each}) for each in found
            )
        return replace(agent, sub_agents=below, **dict.fromkeys(hooks, ()))

    return strip(root), [*plugins, *moved]


def backwards(root, plugins, profile):
    """Move the lists in the other order."""

    def turned(agent):
        below = [turned(each) for each in agent.sub_agents]
        hooks = {x: getattr(agent, x) for x in CALLBACK_HOOKS if hasattr(agent, x)}
        lists = {hook: tuple(reversed(found)) for hook, found in hooks.items()}
        return replace(agent, sub_agents=below, **lists)

    left, made, others = right(turned(root), plugins, profile)
    return left, others if made is None else [*others, made]


WRONG = {
    "first": first,
    "for all": for_all,
    "backwards": backwards,
    **{f"without {hook}": hookless(hook) for hook in CALLBACK_HOOKS},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_port_is_found(wrong) -> None:
    engine = WrongPort(SAFE, wrong)

    world = find(
        port_worlds(),
        lambda each: porting_divergence(each, SAFE, engine) is not None,
        settings=settings(
            max_examples=400,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )

    assert porting_divergence(world, SAFE) is None
