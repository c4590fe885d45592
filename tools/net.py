"""The net: what the code decides now, as files that one command compares.

    python -m tools.net record                  # writes tests/net/*.json
    ... change the code ...
    python -m tools.net compare                 # judges anew, and tells what differs
    python -m tools.net compare --only 'door-*' pack-first_run

A part of the net is a file with a fact a line, ``"ORD-001": "pass"``: verdicts of a
door, kills of mutants, cases of a pack, rows. A fact says what is so and, after
`` | ``, by what it was shown: a sign and the digest of a world. Those are told where
they change, and count with ``--signs`` alone. All else counts, what is gone as well,
unless ``tests/net/explained.toml`` says why it is meant; the part is named in full::

    [[explained]]
    what = "door-langchain: MSG-0*"
    why = "the parts of an answer are compared in the order of their indices"

An explanation that nothing needs is a mistake: it goes when the net is recorded anew.
Parts that need what is not here (Go, node, a package) are told and left as they are.
All of it takes about an hour of one core.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from importlib.metadata import distributions, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from refengine.profile import PROFILES

ROOT: Final = Path(__file__).parent.parent
NET: Final = ROOT / "tests/net"
EXPLAINED: Final = "explained.toml"
BY: Final = " | "
"""Between what is so and by what it was shown."""
STORES: Final = ("refengine.state:SqliteStore", "refengine.state:MemoryStore")
LACKING: Final = re.compile(r"needs \S.*?, which is not installed")
PACK_EXAMPLES: Final = 30
"""Generated worlds for each case of a pack, which fixed ones do not decide."""
PACKAGES: Final = MappingProxyType({"adk_callbacks_to_plugins": "google-adk"})
"""What the subjects of a pack import, beyond the extra ``dev``."""
WIDE: Final = "10000"
"""So wide a terminal does not break the sentence that says what is lacking."""

Facts: TypeAlias = "dict[str, str]"


class NetError(Exception):
    """A net that cannot be recorded or compared; the message says what to do."""


class LackingError(NetError):
    """A part that this machine lacks something for; the message says what."""


Part: TypeAlias = Callable[[int], Facts]
"""Judges anew, in so many generated worlds where a part may have any."""


def refengine(*arguments: str) -> dict[str, Any]:
    """Return the report that a command of refengine writes with ``--json``.

    Raises LackingError where the command says what is not installed, else NetError.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        done = subprocess.run(  # noqa: S603  # refengine, by this Python
            [sys.executable, "-m", "refengine", *arguments, "--json", str(report)],
            cwd=ROOT,
            env={
                **os.environ,
                "REFENGINE_CHANGES": "off",
                "COLUMNS": WIDE,
                "NO_COLOR": "1",
                "TERM": "dumb",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not report.is_file() or not report.stat().st_size:
            if lacking := LACKING.search(done.stdout):
                raise LackingError(lacking[0])
            command = " ".join(arguments)
            raise NetError(f"refengine {command} wrote no report:\n{done.stdout}")
        document: dict[str, Any] = json.loads(report.read_text("utf-8"))
        return {**document, "code": done.returncode}


def judged(options: Sequence[str], examples: int) -> Facts:
    """Return the verdict on each clause, of an engine or of a store."""
    many = ("--examples", str(examples), "--timeout", "120")
    document = refengine("conform", *options, *many)
    facts = {"exit code": str(document["code"])}
    for engine in document["engines"]:
        facts |= {f"door: {each['name']}": _passed(each) for each in engine["smoke"]}
        facts |= {f"broke down: {each['whose']}": "yes" for each in engine["faults"]}
        facts |= {each["clause"]: _verdict(each) for each in engine["results"]}
    return facts


def _passed(smoke: Mapping[str, Any]) -> str:
    return "pass" if smoke["passed"] else "fail"


def _verdict(result: Mapping[str, Any]) -> str:
    """Return a verdict, whether it is known, and what shows it."""
    found = " ".join(filter(None, (result["verdict"], result["known"])))
    failure = result["failure"]
    if failure is None:
        return found
    differs = failure["divergence"]
    return BY.join((found, differs["sign"] if differs else "-", digest(failure)))


def digest(failure: Mapping[str, Any]) -> str:
    """Return the first digits of the digest of the smallest world that shows it."""
    world = json.dumps(failure["scenario"], sort_keys=True)
    return hashlib.sha256(world.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def mutants(_: int) -> Facts:
    """Return the clauses that kill each mutant, those of dialects, too."""
    found = refengine("mutant", "matrix")
    faults = {f"fault: {each}": "yes" for each in found["faults"]}
    return {mutant: _words(by) for mutant, by in found["killed"].items()} | faults


def pack(folder: Path, examples: int) -> Facts:
    """Return what came of each case of a folder of migrations."""
    package = PACKAGES.get(folder.name)
    if package and not any(distributions(name=package)):
        raise LackingError(f"needs {package}, which is not installed")
    many = ("--examples", str(max(examples, PACK_EXAMPLES)))
    cases = refengine("migrate", "check", "--all", str(folder), *many)["each"]
    return {f"{each['piece']}/{each['case']}": _case(each) for each in cases}


def _case(case: Mapping[str, Any]) -> str:
    """Return the relation, the code and the channel, and the codes of other groups."""
    differs, fault = case["divergence"], case["fault"]
    found = [case["holds"] or "nothing holds", "met" if case["met"] else "NOT MET"]
    if differs:
        found.insert(1, f"{differs['code']} in {differs['channel']}")
    if fault:
        found.append(f"{fault['side']} {fault['kind']}")
    others = sorted({each["code"] for each in case["groups"]})
    return BY.join((", ".join(found), *([_words(others)] if others else [])))


def rows(_: int) -> Facts:
    """Return what became of each row of observed behaviour."""
    files = sorted((ROOT / "compat/observe/rows").glob("*.json"))
    found = refengine("observe", *map(str, files))
    facts = {f"compared with {each}": str(n) for each, n in found["compared"].items()}
    return facts | {each["id"]: each["status"] for each in found["list"]}


def _words(found: Sequence[str]) -> str:
    return " ".join(sorted(found)) or "-"


def parts(only: Sequence[str] = ()) -> dict[str, Part]:
    """Return the parts of the net, or those that match a pattern, in their order.

    Raises NetError for a pattern that matches none.
    """
    known = dict(_parts())
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise NetError(f"no part {pattern!r}; there are {', '.join(known)}")
    return {
        name: part
        for name, part in known.items()
        if not only or any(fnmatchcase(name, pattern) for pattern in only)
    }


def _parts() -> Iterator[tuple[str, Part]]:
    yield "rows", rows
    yield "mutants", mutants
    for store in STORES:
        yield f"store-{store.rpartition(':')[2]}", partial(judged, ("--store", store))
    for door in sorted(entry_points(group="refengine.engines").names):
        yield f"door-{door}", partial(judged, (door,))
    for each in PROFILES:
        own = ("reference", "--engine-profile", each.name)
        yield f"reference-under-{each.name}", partial(judged, own)
    for path in sorted((ROOT / "tests/engines/right").glob("*.py")):
        yield f"right-{path.stem}", partial(judged, (f"{path}:Door",))
    settings = (ROOT / "examples").rglob("migration.toml")
    for name in sorted({each.relative_to(ROOT).parts[1] for each in settings}):
        yield f"pack-{name}", partial(pack, ROOT / "examples" / name)


def record(out: Path, named: Mapping[str, Part], examples: int) -> dict[str, NetError]:
    """Write a file for each part; return why the others have none."""
    out.mkdir(parents=True, exist_ok=True)
    left: dict[str, NetError] = {}
    for name, part in named.items():
        try:
            facts = part(examples)
        except NetError as error:
            left[name] = error
            _tell(f"left out {name}: {error}")
        else:
            write(out, name, facts)
            _tell(f"judged   {name}: {len(facts)} facts")
    return left


def write(folder: Path, name: str, facts: Facts) -> None:
    """Write a part of a net, a fact a line."""
    text = json.dumps(facts, indent=0, sort_keys=True, ensure_ascii=True)
    (folder / f"{name}.json").write_text(text + "\n", "utf-8")


def read(folder: Path) -> Facts:
    """Return the facts of a net, each named by its part and itself."""
    return {
        f"{file.stem}: {fact}": found
        for file in sorted(folder.glob("*.json"))
        for fact, found in json.loads(file.read_text("utf-8")).items()
    }


@dataclass(frozen=True, slots=True)
class NetChange:
    """A fact that is not what it was; None where there was, or is, none."""

    fact: str
    was: str | None
    now: str | None

    @property
    def is_so_still(self) -> bool:
        """Tell whether only the sign or the world that shows it is another one."""
        sides = (self.was, self.now)
        return (
            None not in sides and len({f"{each}".split(BY)[0] for each in sides}) == 1
        )

    def __str__(self) -> str:
        """Return it as a line: what happened, to which fact, what was and what is."""
        if self.now is None:
            return f"lost     {self.fact}: was {self.was}"
        if self.was is None:
            return f"gained   {self.fact}: is {self.now}"
        if self.is_so_still:
            return f"by other {self.fact}: was {self.was}, is {self.now}"
        return f"changed  {self.fact}: was {self.was}, is {self.now}"


def changes(old: Facts, new: Facts) -> Iterator[NetChange]:
    """Yield what differs between two nets, in the order of their facts."""
    for fact in sorted({*old, *new}):
        if old.get(fact) != new.get(fact):
            yield NetChange(fact, old.get(fact), new.get(fact))


def reasons(folder: Path) -> dict[str, str]:
    """Return the patterns of facts that differ on purpose, each with the reason.

    Raises NetError for an entry that lacks one of the two, or has more.
    """
    path = folder / EXPLAINED
    found = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    entries = found.pop("explained", [])
    if found or not all(each.keys() == {"what", "why"} for each in entries):
        raise NetError(f"{EXPLAINED}: each [[explained]] has a 'what' and a 'why'")
    return {each["what"]: each["why"] for each in entries}


def compare(
    old: Facts, new: Facts, why: Mapping[str, str], *, signs: bool = False
) -> bool:
    """Print what differs between two nets; return whether all of it is explained.

    ``why`` has a reason for each pattern of facts that differ on purpose; one that
    nothing needs is a mistake. With ``signs`` a fact that other ones show differs, too.
    """
    if not old:
        raise NetError("nothing is recorded: make it with 'record'")
    used, open_ = set[str](), 0
    for change in changes(old, new):
        what = next((each for each in why if fnmatchcase(change.fact, each)), None)
        is_told_only = change.is_so_still and not signs
        if what is not None and not is_told_only:
            used.add(what)
        open_ += what is None and not is_told_only
        _tell(f"{change} (meant: {why[what]})" if what else f"{change}")
    unused = sorted({*why} - used)
    for what in unused:
        _tell(f"unused   {what!r} in {EXPLAINED}: nothing like it differs; remove it")
    _tell(f"{len(old)} facts: {open_} differ without a reason, {len(unused)} unused")
    return not open_ and not unused


def _tell(line: str) -> None:
    print(line, flush=True)  # noqa: T201  # a command answers


def compare_anew(given: argparse.Namespace) -> bool:
    """Compare what is recorded with what is so now, in the parts that can be judged."""
    named = parts(given.only)
    with tempfile.TemporaryDirectory() as folder:
        new = given.new or Path(folder)
        left = {} if given.new else record(new, named, given.examples)
        old, now = (read(each) for each in (given.net, new))
    lacking = {k for k, error in left.items() if isinstance(error, LackingError)}

    def of(facts: Facts) -> Facts:
        """Leave out what belongs to parts that are not compared."""
        names = {each: each.partition(": ")[0] for each in facts}
        asked = (named.keys() if given.only else {*names.values()}) - lacking
        return {fact: found for fact, found in facts.items() if names[fact] in asked}

    why = reasons(given.net)
    return compare(of(old), of(now), of(why), signs=given.signs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Record or compare; exits with 1 for a difference, 2 for a mistake."""
    parser = argparse.ArgumentParser(prog="python -m tools.net", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("--only", nargs="+", default=[], metavar="PART")
    parser.add_argument("--examples", type=int, default=0, help="worlds for each door")
    parser.add_argument("--net", type=Path, default=NET, help="the folder of the net")
    parser.add_argument("--new", type=Path, help="compare with what is recorded there")
    parser.add_argument("--signs", action="store_true", help="compare signs as well")
    given = parser.parse_args(arguments)
    try:
        if given.command == "record":
            left = record(given.net, parts(given.only), given.examples).values()
            sys.exit(int(not all(isinstance(each, LackingError) for each in left)))
        elif not compare_anew(given):
            sys.exit(1)
    except NetError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
