"""``refengine audit``: what one subject does, without a new side to hold it against."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat.cli.command import argument, group, option, refuse, refusing
from compat.cli.migrate import progress_of
from compat.cli.migrate_files import ReportFiles, from_root, header_of, writing
from compat.cli.migrate_options import (
    GENERATED,
    REQUIRE,
    SECONDS,
    SEED,
    TOOLS,
    WORLDS,
    reach_lines,
    reaching,
)
from compat.cli.values import PATH, at_least
from compat.migration.options import Reach, UnknownWordError, known
from compat.verdicts.exit_codes import NOTHING_RAN
from compat.verdicts.relations import RELATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.migration.refs import SubjectRef
    from compat.migration.subject_runner import CheckOptions
    from compat.verdicts.migration import JudgedCase
    from compat.verdicts.order import OrderAudit

ORDER: Final = "audit order"
PAIRS: Final = 10
"""All of a stack of five: about as many plays as one check with its sharpness has."""

app = group("Look at one subject for what nobody has asked it yet.")


@app.command()
@argument("subject", "module:name, file.py:name or file.py")
@REQUIRE
@option(
    "--settings",
    about="a migration.toml: volatile fields, orders that are meant",
    kind=PATH,
)
@WORLDS
@TOOLS
@option("--pairs", about="pairs to try at most", kind=at_least(1), default=PAIRS)
@GENERATED
@SEED
@SECONDS
@writing
@reaching
def order(  # noqa: PLR0913  # the options of the command
    *,
    subject: str,
    require: str | None,
    settings: Path | None,
    worlds: tuple[Path, ...],
    tools: tuple[Path, ...],
    pairs: int,
    examples: int,
    seed: int,
    timeout: float,
    files: ReportFiles,
    reach: Reach,
) -> int:
    """Find the extensions of a stack whose order matters.

    Each two of a list are put in the other order, and the stack is played beside
    itself: struct middlewares, handlers and wrappers of tools that subject(world)
    returns, the middleware of create_agent, and the plugins and lists of callbacks of
    agents of ADK. Each pair that does not commute is shown with the smallest world, the
    worst first. An order that is meant is declared in a migration.toml.

    Exit codes: 0 all pairs commute or are meant, 1 some do not, 2 a mistake in what
    was given, 3 a side hung or ended, 4 there is nothing to put in another order or a
    hook was never entered, 5 a declared order is not needed, 6 the stack differs from
    itself. If several apply, the first of 2, 3, 4, 6, 1, 5 wins.
    """
    files.check(ORDER)
    from compat.migration.folder import given_of, mistakes, one_side_of
    from compat.migration.given import read_given
    from compat.migration.ordering import OrderAuditor, order_code
    from compat.migration.refs import parse_ref
    from compat.migration.subject_runner import CheckOptions
    from compat.report.order import order_lines
    from compat.report.terminal import console
    from compat.wire.scrubbing.scrubber import output_scrubber

    with refusing(ORDER, UnknownWordError, *mistakes()):
        if require is not None:
            known(require, RELATIONS, "relation")
        ref = parse_ref(subject)
        terms, meant = one_side_of(settings, require)
        given = read_given(worlds, tools).joined(given_of(settings))
        how = CheckOptions(examples, seed, timeout, given=given, reach=reach)
        with progress_of(how) as shown:
            found = OrderAuditor(ref, terms, meant, shown, pairs).audit()
    if found.fault is None and found.nothing_ran:
        refuse(ORDER, _nothing(ref, found), NOTHING_RAN)
    code = order_code(found)
    out = console(output_scrubber().text)
    for line in (*order_lines(found, out.width), *reach_lines(how)):
        out.print(line)
    _write(files, ref, found, how, code)
    return code


def _nothing(ref: SubjectRef, found: OrderAudit) -> str:
    """Return why there is nothing to put in another order."""
    if not found.lists:
        return (
            f"{ref}: no list of extensions can be reached: return a list of"
            " AgentMiddleware and handlers or world.config(...) from subject(world), or"
            " build the agent there with LangChain's create_agent(middleware=[...])"
        )
    seen = "; ".join(f"{place}: {', '.join(names)}" for place, names in found.lists)
    return f"{ref}: no list has two extensions, so there is no order ({seen})"


def _write(
    files: ReportFiles, ref: SubjectRef, found: OrderAudit, how: CheckOptions, code: int
) -> None:
    from compat.report.migration_json import report
    from compat.report.order_json import order_json
    from compat.verdicts.migration import JudgedCase
    from compat.wire.scrubbing.scrubber import json_without_secrets

    def document() -> Mapping[str, object]:
        verdicts = (each.verdict for each in found.judged)
        header = {**header_of(how, *verdicts), "subject": str(ref)}
        body = json_without_secrets(order_json(found))
        return report(body, json_without_secrets(header), code)

    cases: list[JudgedCase] = []
    file = from_root(ref.file)
    for each in found.judged:
        verdict = each.verdict
        shown = None if each.commutes else verdict.divergence
        got = shown.code if shown else verdict.holds or "nothing"
        met = each.commutes or bool(each.meant)
        name = f"{ref}: {each.moved}"
        cases.append(JudgedCase("", name, verdict.required, got, met, verdict, file))
    files.write(document, cases)
