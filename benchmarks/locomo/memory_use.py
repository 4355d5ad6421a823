"""The most memory this process held at once, since the last reset."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
_RESET_PEAK = "5"


def reset_peak() -> None:
    """Start anew. Only Linux can; elsewhere the peak stays that of the whole run."""
    with suppress(OSError):
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")


def peak_rss_bytes() -> int:
    """Return the peak of the resident memory: of this process alone, not of the database server."""
    if _STATUS.exists():
        [peak] = [line for line in _STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:")]
        return int(peak.split()[1]) * 1024
    peak_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak_rss if sys.platform == "darwin" else peak_rss * 1024
