"""CONC: runs that share nothing, as several plays show it (contract §2 CONC).

They ask whether an engine plays the same again, which its own plays alone can tell.
"""

from __future__ import annotations

from typing import Final

from property_tests.check import Check
from property_tests.checks.comparing import again, built_twice, earlier_runs
from property_tests.variants import AGAIN, BUILT_TWICE, RUN_TWICE

CHECKS: Final = (
    Check(clause="CONC-008", decide=earlier_runs, variants=(RUN_TWICE,)),
    Check(clause="CONC-009", decide=again, variants=(AGAIN,)),
    Check(clause="CONC-010", decide=built_twice, variants=(BUILT_TWICE,)),
)
