"""``refengine migrate bisect``: the first release or commit that differs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from compat.cli.command import argument, command, flag, option, refuse, refusing
from compat.cli.values import RELATION, at_least
from compat.migration.options import EXAMPLES
from compat.verdicts.exit_codes import NOTHING_RAN, OK
from compat.verdicts.relations import DEFAULT_RELATION, RELATIONS

if TYPE_CHECKING:
    from compat.migration.bisecting import StepJudge
    from compat.verdicts.timeline import FirstBad

BISECT: Final = "migrate bisect"
GIVE: Final = (
    "give --package with --from and --to, or --commits GOOD..BAD of your repository"
)


@command()
@argument("subject", "module:name, file.py:name or file.py")
@option("--package", about="whose releases are tried", default="")
@option("--from", "first", about="the release to compare with: 1.2", default="")
@option("--to", "last", about="one in which something changed: 1.5", default="")
@option(
    "--commits",
    about="try commits of your repository in place of releases: v1.0..HEAD",
    metavar="GOOD..BAD",
    default="",
)
@option("--with", "others", about="what else it runs with", multiple=True)
@option(
    "--require",
    about=f"what has to hold: {', '.join(RELATIONS)}",
    kind=RELATION,
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
    commits: str,
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

    With --commits it is the first commit of your own repository. A merge is one step;
    where it is the first bad one, the commits that it brought are tried. A commit that
    cannot be imported or judged is passed by, and told.

    Exit codes: 0 found, 2 a mistake in what was given, 4 nothing changed, or the first
    or the last one cannot be played.
    """
    if commits and (package or first or last or pre):
        refuse(BISECT, f"--commits stands for itself: {GIVE}")
    if not commits and not (package and first and last):
        refuse(BISECT, GIVE)
    if commits and ".py" not in subject:
        what = "is played as it is in each commit: give file.py or file.py:name"
        refuse(BISECT, f"{subject} with --commits {what}")
    from compat.environments.releases import ReleasesError
    from compat.migration.folder import mistakes
    from compat.migration.judge import Terms
    from compat.migration.options import UnknownWordError, known
    from compat.migration.refs import parse_ref
    from compat.migration.subject_runner import CheckOptions
    from compat.report.terminal import console
    from compat.verdicts.timeline import TimelineError
    from compat.wire.scrubbing.scrubber import output_scrubber

    out = console(output_scrubber().text)
    with refusing(BISECT, *mistakes(), ReleasesError, UnknownWordError, TimelineError):
        terms = Terms(known(require, RELATIONS, "relation"))
        how = CheckOptions(examples, seed)
        asked = {"others": others, "terms": terms, "how": how, "told": out.print}
        if commits:
            return _of_commits(subject, commits, asked)
        parse_ref(subject)  # a mistake in it comes before the network
        return _of_releases(subject, package, (first, last), asked, pre=pre)


def _of_releases(
    subject: str,
    package: str,
    ends: tuple[str, str],
    asked: dict[str, Any],
    *,
    pre: bool,
) -> int:
    from compat.environments.releases import releases
    from compat.migration.bisecting import ReleaseJudge
    from compat.timeline.bisecting import Bisection, NothingToFindError

    order = releases(package, *ends, pre=pre)
    judge = ReleaseJudge(subject, order[0], package=package, **asked)
    with refusing(BISECT, NothingToFindError, code=NOTHING_RAN):
        found = Bisection(order, judge.judge).first_bad()
    return _shown(found, judge)


def _of_commits(subject: str, span: str, asked: dict[str, Any]) -> int:
    from compat.migration.bisecting import CommitJudge
    from compat.timeline.bisecting import MainLine, NothingToFindError

    line = MainLine(Path.cwd())
    order = line.commits(span)
    judge = CommitJudge(subject, order[0], **asked)
    with refusing(BISECT, NothingToFindError, code=NOTHING_RAN):
        found = line.first_bad(order, judge.judge, judge.told)
    return _shown(found, judge, [f"  {line.subject(found.version)}"])


def _shown(found: FirstBad, judge: StepJudge, more: Sequence[str] = ()) -> int:
    """Print what was found, with the report that has the smallest world of it."""
    from compat.report.migration import lines
    from compat.report.timeline import first_bad_lines

    head, *rest = first_bad_lines(found)
    for line in (head, *more, *rest, "", *lines(judge.verdicts[found.version])):
        judge.told(line)
    return OK
