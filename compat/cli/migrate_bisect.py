"""``refengine migrate bisect``: the first release in which a behaviour changed."""

from __future__ import annotations

from typing import Final

from compat.cli.command import argument, command, flag, option, refusing
from compat.cli.values import at_least
from compat.migration.options import EXAMPLES
from compat.verdicts.exit_codes import NOTHING_RAN, OK
from compat.verdicts.relations import DEFAULT_RELATION, RELATIONS

BISECT: Final = "migrate bisect"


@command()
@argument("subject", "module:name, file.py:name or file.py")
@option("--package", about="whose releases are tried", required=True)
@option("--from", "first", about="the release to compare with: 1.2", required=True)
@option("--to", "last", about="one in which something changed: 1.5", required=True)
@option("--with", "others", about="what else it runs with", multiple=True)
@option(
    "--require",
    about=f"what has to hold: {', '.join(RELATIONS)}",
    default=DEFAULT_RELATION,
)
@option("--examples", about="generated worlds", kind=at_least(1), default=EXAMPLES)
@option("--seed", about="of the generated worlds", kind=at_least(0), default=0)
@flag("--pre", about="try what comes before a release, too")
def bisect(  # noqa: PLR0913  # the options of the command
    *,
    subject: str,
    package: str,
    first: str,
    last: str,
    others: tuple[str, ...],
    require: str,
    examples: int,
    seed: int,
    pre: bool,
) -> int:
    """Find the first release of a package under which your code does something else.

    The middle of what is left is played beside the first release, until one is left;
    its report has the smallest world that shows the change. What cannot be installed
    is passed by.

    Exit codes: 0 found, 2 a mistake in what was given, 4 nothing changed, or the first
    or the last release cannot be played.
    """
    from compat.environments.releases import ReleasesError, releases
    from compat.migration.bisecting import ReleaseJudge
    from compat.migration.folder import mistakes
    from compat.migration.judge import Terms
    from compat.migration.options import UnknownWordError, known
    from compat.migration.refs import parse_ref
    from compat.migration.subject_runner import CheckOptions
    from compat.report.migration import lines
    from compat.report.terminal import console
    from compat.report.timeline import first_bad_lines
    from compat.timeline.bisecting import Bisection, NothingToFindError
    from compat.wire.scrubbing.scrubber import output_scrubber

    out = console(output_scrubber().text)
    with refusing(BISECT, *mistakes(), ReleasesError, UnknownWordError):
        terms = Terms(known(require, RELATIONS, "relation"))
        ref, how = parse_ref(subject), CheckOptions(examples, seed)
        order = releases(package, first, last, pre=pre)
        judge = ReleaseJudge(ref, package, order[0], others, terms, how, out.print)
        with refusing(BISECT, NothingToFindError, code=NOTHING_RAN):
            found = Bisection(order, judge.judge).first_bad()
    for line in (*first_bad_lines(found), "", *lines(judge.verdicts[found.version])):
        out.print(line)
    return OK
