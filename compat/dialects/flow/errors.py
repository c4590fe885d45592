"""What goes wrong in a flow, one class a cause; the message says where and what to do.

FlowError
└── ValueReadError (ValueError)   JSON that is no value of the class it is read as
"""

from __future__ import annotations

from refengine.errors import RefengineError, error


class FlowError(RefengineError):
    """What every error of this dialect is."""


@error
class ValueReadError(FlowError, ValueError):
    """Written data does not fit the class that it is read as."""

    path: str
    got: object
    wanted: str
    says = "{path}: {got!c} ({got!t}) is no {wanted}"
