"""Assertions on an agent's memory; see `react_mem.integrations.assertions`."""

from react_mem.integrations.assertions import assert_forgets as assert_forgets
from react_mem.integrations.assertions import assert_not_leaked as assert_not_leaked
from react_mem.integrations.assertions import assert_remembers as assert_remembers
