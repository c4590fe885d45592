"""The page of scale: written from figures, whose promises are held."""

from collections.abc import Callable

import pytest

from tools.pages.blocks import NoPlaceError
from tools.scale.__main__ import COMMAND, PAGE, main, missed, shown
from tools.scale.million import AGAIN, StepFailedError, chat, ran
from tools.scale.page import (
    ROOT,
    CorpusStep,
    LargeCorpus,
    ScaleFigures,
    Throughput,
    WorkerFigures,
    kept,
)

MACHINE = {"cpu": "Mill 9", "cores": "2", "os": "Linux 6", "python": "CPython 3.11.0"}


def figures(megabytes: float = 90, efficiency: float = 0.9) -> ScaleFigures:
    step = CorpusStep(command="refengine x", seconds=2, megabytes=megabytes, said="y")
    corpus = LargeCorpus(machine=MACHINE, sessions=9, bytes=10**6, steps=(step,))
    rows = [(0, 0.0, 50.0, None), (1, 3.0, 45.0, 300.0), (2, 3.0, 100.0, 400.0)]
    workers = WorkerFigures(
        machine=MACHINE,
        sessions=900,
        throughput=tuple(
            Throughput(workers=a, start=b, sessions=c, tasks=d) for a, b, c, d in rows
        ),
        efficiency=(efficiency, efficiency),
        large_tasks=100,
        asked_bytes=700,
        answered_bytes=800,
    )
    return ScaleFigures(corpus=corpus, workers=workers)


def test_page_shows_the_figures_that_are_kept() -> None:
    page = PAGE.read_text("utf-8")

    assert page == shown(page, kept())


def test_plan_is_computed_from_the_figures() -> None:
    text = shown(PAGE.read_text("utf-8"), figures())

    # 50 sessions a second of a core, so 50,000,000 are 278 hours of one, 139 of two.
    assert "278 hours of a core at 50 a second: 500,000 units of 100" in text
    assert "| 2 | 138.9 h | 1.0 | 0.1 MB a second |" in text
    assert "it answers 400 units a second, which is what 800 workers ask" in text
    assert "0.8 GB here" in text
    assert "at most 0.10% of all sessions diverge" in text
    assert "**90%** of two single commands" in text


def test_page_without_a_place_is_told() -> None:
    with pytest.raises(NoPlaceError, match=COMMAND):
        shown("", figures())


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (figures, []),
        (lambda: figures(megabytes=600), ["a process held 600 MB, of 500"]),
        (lambda: figures(efficiency=0.5), ["local:2 had 50%, of 85%"]),
    ],
    ids=["kept", "memory", "efficiency"],
)
def test_what_is_not_as_promised_is_told(
    found: Callable[[], ScaleFigures], told: list[str]
) -> None:
    assert missed(found()) == told


def test_numbers_give_the_same_chats_and_one_in_ten_is_an_earlier_one() -> None:
    chats = [chat(at) for at in range(100)]

    assert chats == [chat(at) for at in range(100)]
    again = chats[AGAIN - 1 :: AGAIN]
    assert all(each in chats[: at * AGAIN + AGAIN - 1] for at, each in enumerate(again))


def test_command_that_fails_is_told_with_what_it_said() -> None:
    with pytest.raises(StepFailedError, match=r"corpus info README.md ended with code"):
        ran(ROOT, ("corpus", "info", "README.md"))


def test_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["memory"])

    assert "there is no part 'memory'" in capsys.readouterr().err
