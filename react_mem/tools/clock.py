"""The current time."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, available_timezones

from langchain_core.tools import ToolException, tool

from react_mem.tools.registry import valid_names


@tool
def current_time(timezone: str = "UTC") -> str:
    """Return the current date, time and day of the week.

    Args:
        timezone: An IANA time zone, such as Asia/Ho_Chi_Minh or Europe/Paris.
    """
    try:
        zone = ZoneInfo(timezone)
    except (ValueError, OSError, LookupError):
        # The list has hundreds of names: the nearest one says enough.
        _, semicolon, hint = valid_names(timezone[:100], available_timezones()).partition("; ")
        raise ToolException(
            f"unknown time zone {timezone[:100]!r}; use an IANA name such as Asia/Ho_Chi_Minh{semicolon}{hint}"
        ) from None
    return datetime.now(zone).strftime(f"%Y-%m-%d %H:%M:%S {timezone} (%A)")
