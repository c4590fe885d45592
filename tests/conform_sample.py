"""Events of judgements that never happened, for tests of the reports."""

from collections.abc import Iterator, Sequence
from typing import Any

from compat.report.conform_gathered import JudgementReport, gather
from compat.report.conform_stream import JudgementStream
from compat.verdicts.conformance import (
    VERDICTS,
    AnyEvent,
    Breakdown,
    ClauseFailure,
    ClauseInfo,
    ClauseResult,
    EngineInfo,
    EngineSummary,
    SeenLine,
    SmokeResult,
    StreamHeader,
)

SENTENCES = (
    "Before-model hooks run middlewares first, then handlers, each list in its order.",
    "The first extension in a list is the outermost one of every onion.",
    "What a before-model hook leaves is what the next one sees and what is kept.",
    "Of equal tool names the last entry's tool is kept, at the place of the first.",
    "An error in a hook stops the chain, and no later hook of it is entered.",
    "A run that streams ends with the same messages as one that does not.",
    "What a handler puts into the context reaches the tools of the same iteration.",
)
FAMILIES = ("ORD", "INS", "TOOL", "RD", "MSG", "WRAP", "STR", "ERR", "CTX", "EVT")

WORLD: dict[str, Any] = {
    "agent": {
        "tools": [{"name": "search", "result": "found"}],
        "middlewares": [{"id": "m0", "before_chat_model": [{"op": "record"}]}],
        "handlers": [
            {"id": "h0", "before_model": []},
            {"id": "h1", "before_model": []},
        ],
    },
    "model_script": ["assistant:[c0:search({})]", "assistant:done"],
    "runs": [{"input": ["user:hi"]}],
}
AROUND = (
    SeenLine(mark=" ", text='   2  run 1  hook_enter  extension: "h0"  position: 0'),
    SeenLine(mark=" ", text='   3  run 1  hook_exit  extension: "h0"  position: 0'),
    SeenLine(mark=">", text='   4  run 1  hook_enter  extension: "m0"  position: 0'),
    SeenLine(mark=" ", text="   5  run 1  model_request  messages: user:hi"),
)
DOOR = SmokeResult(
    engine="swift",
    name="answers",
    passed=False,
    asked="a run that answers",
    got="KeyError in /srv/someone/engine.py",
)
CRASH = Breakdown(
    engine="swift",
    whose="engine",
    text='Traceback:\n  File "/srv/someone/engine.py"\nValueError: \x1b[2J',
)


def clause(id_: str, **given: Any) -> ClauseInfo:
    family, _, number = id_.partition("-")
    sentence = SENTENCES[int(number) % len(SENTENCES)]
    filled = {"level": "MUST", "status": "checked", "sentence": sentence, **given}
    return ClauseInfo(id=id_, family=family, **filled)


def failure(**given: Any) -> ClauseFailure:
    filled = {
        "variant": "played",
        "asked": "before-model hooks: middlewares, then handlers, in list order",
        "expected": ["m0", "h0", "h1"],
        "got": ["h0", "m0", "h1"],
        "path": "[0]",
        "around": AROUND,
        "scenario": WORLD,
        "reproduce": "refengine conform swift --only ORD-001 --seed 7",
    }
    return ClauseFailure(**{**filled, **given})


def result(id_: str, verdict: str = "pass", **given: Any) -> ClauseResult:
    failing = verdict == "fail"
    filled = {
        "engine": "swift",
        "level": "MUST",
        "worlds": 40 if verdict in {"pass", "fail"} else 0,
        "failing": 3 if failing else 0,
        "failure": failure() if failing else None,
    }
    return ClauseResult(clause=id_, verdict=verdict, **{**filled, **given})


def summary(results: Sequence[ClauseResult], **given: Any) -> EngineSummary:
    found = [each.verdict for each in results if each.known != "known"]
    red = [e for e in results if e.verdict in {"fail", "blocked", "error"}]
    filled = {
        "engine": "swift",
        "profile": "seed-001",
        "clauses": len(results),
        "checked": len(results),
        "verdicts": {each: found.count(each) for each in VERDICTS},
        "conformant": not any(e.level == "MUST" and not e.known for e in red),
        "known": sum(each.known == "known" for each in results),
        "stale": sum(each.known == "stale" for each in results),
        "thin": tuple(each.clause for each in results if each.thin),
        "expected": len(results),
        "run": len(results),
    }
    return EngineSummary(**{**filled, **given})


def header(clauses: Sequence[ClauseInfo], engines: Sequence[str]) -> StreamHeader:
    return StreamHeader(
        contract="0.1",
        corpus="0123456789abcdef" * 4,
        seed=7,
        worlds=500,
        fixed=180,
        engines=tuple(engines),
        selected=tuple(each.id for each in clauses if each.status == "checked"),
        versions=dict.fromkeys(engines, "1.2.0"),
        tool="refengine 0.1.0",
        python="3.11.7",
        started="2026-01-02 03:04 UTC",
    )


def events(
    *results: ClauseResult,
    clauses: Sequence[ClauseInfo] = (),
    info: dict[str, Any] | None = None,
    told: dict[str, Any] | None = None,
    smokes: Sequence[SmokeResult] = (),
    faults: Sequence[Breakdown] = (),
    code: int = 0,
) -> list[Any]:
    """Return all events of a judgement of one engine, swift."""
    ids = {each.id for each in clauses}
    mine = [clause(e.clause, level=e.level) for e in results if e.clause not in ids]
    known = [*mine, *clauses]
    given = {"engine": "swift", "profile": "seed-001", **(info or {})}
    return ended(
        [
            header(known, ["swift"]),
            *known,
            EngineInfo(**given),
            *smokes,
            *results,
            *faults,
            summary(results, **{"clauses": len(known), **(told or {})}),
        ],
        code,
    )


def ended(found: Sequence[AnyEvent], code: int = 0) -> list[AnyEvent]:
    """Return the events with their footer."""
    stream = JudgementStream()
    for each in found:
        stream.take(each)
    return [*found, stream.end(code)]


def judged(*results: ClauseResult, **given: Any) -> JudgementReport:
    return gather(events(*results, **given))


def many(engines: Sequence[str], clauses: int) -> list[AnyEvent]:
    """Return a judgement of several engines by many clauses, some of them not kept."""
    known = list(_contract(clauses))
    found: list[AnyEvent] = [header(known, engines), *known]
    for number, engine in enumerate(engines):
        found += _engine(number, engine, known)
    return ended(found, 1)


def _contract(count: int) -> Iterator[ClauseInfo]:
    each = -(-count // len(FAMILIES))
    for at in range(count):
        id_ = f"{FAMILIES[at // each]}-{at % each + 1:03}"
        level = "SHOULD" if at % 17 == 3 else "MAY" if at % 40 == 9 else "MUST"
        yield clause(id_, level=level)
    why = "Interrupts come with a later issue."
    yield clause("INT-001", status="planned", why=why)
    yield clause("SURF-001", status="untestable", why="No trace shows a type.")


def _engine(number: int, engine: str, known: Sequence[ClauseInfo]) -> list[AnyEvent]:
    mine = [
        _result(number, at, each).model_copy(update={"engine": engine})
        for at, each in enumerate(known)
        if each.status == "checked"
    ]
    never = ("MSG-004",) if number else ()
    return [
        EngineInfo(engine=engine, profile="seed-001", undeclared=("streaming",)),
        SmokeResult(engine=engine, name="answers", passed=True, asked="an answer"),
        *mine,
        summary(mine, engine=engine, clauses=len(known), never=never, refused=number),
    ]


def _result(number: int, at: int, clause: ClauseInfo) -> ClauseResult:
    given = {"level": clause.level}
    if number and at % (40 // number) == 3:
        return result(clause.id, "fail", **given)
    if number and at % 29 == 7:
        reason = "the engine declares no struct_model_hooks"
        return result(clause.id, "not-applicable", reason=reason, **given)
    if number == 2 and at == 50:
        return result(clause.id, "blocked", reason="ORD-004 failed", **given)
    if number == 2 and at == 51:
        return result(clause.id, "error", reason="KeyError: 'x'", **given)
    if number == 2 and at == 60:
        known = {"known": "known", "known_reason": "fixed in 1.3"}
        issue = "https://issues.example/12"
        return result(clause.id, "fail", known_issue=issue, **known, **given)
    return result(clause.id, **given)
