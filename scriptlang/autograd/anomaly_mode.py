"""The names of torch.autograd.anomaly_mode: where gradients that are NaN come from."""

from __future__ import annotations

from typing import Any

from ..ops.calling.current import mode
from ..ops.derivatives.anomaly import warn_of_use

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class detect_anomaly:
    """A context in which going backward raises for gradients that are NaN.

    The error, and any other one, is told with the place where the operator was called, if that was
    in the context, too. check_nan: whether to look for NaN. Calls take much longer meanwhile.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.before: bool | None = mode.anomaly
        warn_of_use()

    def __enter__(self) -> None:
        self.before = mode.anomaly
        mode.look_for(self.check_nan)

    def __exit__(self, *raised: Any) -> None:
        mode.look_for(self.before)


class set_detect_anomaly:
    """Turn the mode of `detect_anomaly` on or off at once, or as a context for a while."""

    def __init__(self, mode_: bool, check_nan: bool = True) -> None:
        self.before = mode.anomaly
        mode.look_for(check_nan if mode_ else None)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: Any) -> None:
        mode.look_for(self.before)
