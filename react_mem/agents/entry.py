"""Entry of the command `react-mem`, which handles Ctrl-C while the rest is still being loaded."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command with the arguments of the process; return the exit code, 130 after Ctrl-C."""
    try:
        if sys.argv[1:2] == ["hook"]:
            # a coding agent waits for it before every prompt, and the rest takes a second to load
            from react_mem.integrations.coding_hooks.hook_client import main as hook

            return hook(sys.argv[2:])
        from react_mem.agents.cli import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("Stopped before anything was done.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
