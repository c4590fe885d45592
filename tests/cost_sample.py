"""Costs that nobody measured, for tests of the reports."""

from typing import Any

from compat.verdicts.cost import (
    SHAPES,
    Absent,
    Bar,
    Blocked,
    Compared,
    Cost,
    CostFailure,
    CostHeader,
    CostNoise,
    Costs,
    Estimate,
    Fit,
    Growth,
    GrowthPoint,
    HookCost,
    Memory,
    Missing,
    PeerCost,
)

NO_BARE = "plain Python cannot run an onion of more than 900 layers"


def about(value: float, part: float = 0.03) -> Estimate:
    """Return a value with an interval around it, a part of it wide on each side."""
    return Estimate(value=value, low=value * (1 - part), high=value * (1 + part))


def compared(floor: Any, seconds: float, ratio: float, adds: float = 3e-7) -> Compared:
    return Compared(
        floor=floor,
        floor_seconds=seconds / ratio,
        seconds=seconds,
        ratio=about(ratio),
        per_handler=about(adds),
        change="dearer" if ratio > 1 else "cheaper",
    )


def same(floor: Any, seconds: float) -> Compared:
    found = compared(floor, seconds, 1.004, 1.2e-9)
    return found.model_copy(update={"change": "not distinguishable"})


def cost(section: Any, name: str, *found: Compared, **given: Any) -> Cost:
    filled = {"n": 100, "history": 10, "tools": 1, "key": f"{section}/{name}"}
    return Cost(section=section, name=name, compared=found, **{**filled, **given})


def growth(name: str, each: float, **given: Any) -> Growth:
    sizes = (0, 1, 10, 100, 1000, 10_000)
    bare = {n: 2e-6 + n * each / 1.6 for n in (1, 10, 100, 900)}
    points = [
        GrowthPoint(n=n, seconds=2e-5 + n * each, bare_seconds=bare.get(n))
        for n in sizes
    ]
    points.insert(
        4, GrowthPoint(n=900, seconds=2e-5 + 900 * each, bare_seconds=bare[900])
    )
    errors = (3.1, 0.021, 0.083, 0.95)
    filled: dict[str, Any] = {
        "points": tuple(points),
        "slope": about(each),
        "bare_slope": about(each / 1.6),
        "fits": tuple(
            Fit(shape=shape, error=error)
            for shape, error in zip(SHAPES, errors, strict=True)
        ),
        "shape": "linear",
        "memory_slope": 612.5,
        **given,
    }
    return Growth(name=name, **filled)


def peer(name: str, hook: str, base: float, each: float, **given: Any) -> PeerCost:
    filled: dict[str, Any] = {
        "version": "1.4.2",
        "ours": "wrap_model_call",
        "base_seconds": base,
        "base_over_bare": about(base / 6e-6),
        "base_over_ours": about(base / 4.1e-5),
        "per_handler": about(each, 0.08),
        "over_bare": about(each / 2.9e-7, 0.08),
        "over_ours": about(each / 6e-7, 0.08),
        "tried": 5000,
        "memory": each * 3e8,
        **given,
    }
    return PeerCost(peer=name, hook=hook, **filled)


HEADER = CostHeader(
    tool="refengine 0.1.0",
    machine={
        "cpu": "A Processor of 3.0 GHz",
        "cores": "2",
        "os": "Linux 6.1",
        "python": "CPython 3.11.7",
    },
    command="refengine bench run shop.handlers:subject --quick",
    quick=True,
    subject="shop.handlers:subject",
    started="2026-01-02T03:04:05Z",
    seconds=97.4,
)

COSTS = Costs(
    header=HEADER,
    noise=CostNoise(ratio=Estimate(value=1.002, low=0.991, high=1.012), band=0.012),
    costs=(
        cost(
            "hooks",
            "before_model_rewrite_history, async",
            compared("bare Python", 5.1e-5, 1.34, 3.1e-7),
            compared("no handlers", 5.1e-5, 1.62, 3.3e-7),
            memory=Memory(peak=61_440, left=128, blocks=412),
        ),
        cost(
            "hooks",
            "wrap_model_call, async",
            compared("bare Python", 9.9e-5, 2.21, 6.2e-7),
            compared("no handlers", 9.9e-5, 3.15, 6.4e-7),
            memory=Memory(peak=1_250_000, left=0, blocks=2_412),
        ),
        cost("hooks", "no hook at all", same("no handlers", 4.1e-5)),
        cost(
            "hooks",
            "wrap_streamable_tool_call, sync",
            blocked=Blocked(clause="TOOL-003", why="the tool ran twice in one call"),
        ),
        cost("axes", "N = 1", same("bare Python", 2.3e-5), n=1),
        cost(
            "axes",
            "N = 10,000",
            compared("no handlers", 4.3e-3, 104.2),
            missing=(Missing(floor="bare Python", why=NO_BARE),),
            n=10_000,
        ),
        cost("axes", "tools 100", compared("no handlers", 7e-5, 1.1), tools=100),
        cost(
            "corners",
            "N = 10,000, history 10,000",
            compared("no handlers", 5.2e-3, 81.0),
            missing=(Missing(floor="bare Python", why=NO_BARE),),
            n=10_000,
            history=10_000,
        ),
        cost("forms", "adapted struct middleware", compared("native", 6.6e-5, 1.12)),
        cost("subject", "shop.handlers:subject", compared("no handlers", 9.4e-4, 4.7)),
        cost("handlers", "Redact", compared("without it", 4.4e-5, 1.1, 2.2e-6)),
        cost("handlers", "Summarize", compared("without it", 7e-4, 17.1, 6.4e-4)),
        cost("handlers", "Quiet", same("without it", 4.2e-5)),
    ),
    hooks=(
        HookCost(
            handler="Redact",
            hook="after_model_rewrite_history",
            calls=2,
            seconds=about(1.1e-6),
            share=0.04,
            change="not distinguishable",
        ),
        HookCost(
            handler="Summarize",
            hook="before_model_rewrite_history",
            calls=2,
            seconds=about(3.2e-4),
            share=0.96,
            change="dearer",
        ),
    ),
    growth=(
        growth("before_model_rewrite_history, async", 3.1e-7),
        growth("wrap_model_call, async", 6.2e-7),
        growth("wrap_invokable_tool_call, async", 5.1e-7),
        growth("before_agent, sync", 1.2e-7),
        Growth(
            name="wrap_streamable_tool_call, sync",
            points=(),
            slope=None,
            blocked=Blocked(clause="TOOL-004", why="a piece of the stream was lost"),
        ),
    ),
    peers=(
        peer(
            "langchain",
            "wrap_model_call",
            1.9e-3,
            1.4e-5,
            fails=CostFailure(n=321, how="exception", what="RecursionError"),
        ),
        peer("langchain", "before_model", 1.9e-3, 8.8e-4),
        peer(
            "strands",
            "Wrap ExecuteTool",
            1.4e-3,
            5.6e-6,
            fails=CostFailure(n=487, how="silent", what="the tool did not run"),
        ),
        peer("pydantic-ai", "wrap_tool", 4.9e-3, 1.9e-4),
        peer(
            "google-adk",
            "plugin",
            5e-3,
            2e-5,
            version="1.9.0",
            base_seconds=None,
            per_handler=None,
            blocked=Blocked(clause="MODEL-001", why="the model was called once"),
        ),
    ),
    absent=(Absent(peer="agent-framework", why="No module named 'agent_framework'"),),
    bars=(
        Bar(name="adapted over native", ratio=1.12, limit=1.3, holds=True),
        Bar(name="a deep layer", ratio=3.4, limit=3.0, holds=False, why="see profile"),
        Bar(name="conform", ratio=None, limit=1, holds=None, why="no stored corpus"),
    ),
    told=("corners were measured at two sizes, not at four",),
)
EMPTY = Costs(header=HEADER.model_copy(update={"quick": False}), noise=COSTS.noise)
