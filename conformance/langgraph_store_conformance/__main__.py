"""`python -m langgraph_store_conformance`."""

import sys

from langgraph_store_conformance.command import main

sys.exit(main())
