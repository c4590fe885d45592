"""``tools.known_types``: which symbols have no known type, and what share has one."""

from tools.known_types import lines, percent

KNOWN = {"name": "refengine.Agent", "isExported": True, "isTypeKnown": True}
FOUND = {
    "completenessScore": 0.985,
    "symbols": [
        {**KNOWN, "isTypeAmbiguous": False, "diagnostics": []},
        {
            **KNOWN,
            "name": "refengine.Run.history",
            "isTypeAmbiguous": True,
            "diagnostics": [{"message": "Type is missing type annotation\n  int"}],
        },
        {**KNOWN, "name": "a._b", "isExported": False, "isTypeAmbiguous": True},
    ],
}


def test_a_symbol_whose_type_is_not_known_is_told_with_why() -> None:
    assert [*lines(FOUND)] == [
        "refengine.Run.history: Type is missing type annotation",
        "98.5 % of types are known, 97 % are asked for",
    ]


def test_the_share_is_that_of_pyright_in_percent() -> None:
    assert percent(FOUND) == 98.5
