"""Client of react-mem's REST interface: what an agent remembers of a user, for programs."""

from react_mem_client.answers import Answer
from react_mem_client.client import MemoryClient
from react_mem_client.errors import MemoryApiError
from react_mem_client.transport import ServerEvent, Token

__all__ = ["Answer", "MemoryApiError", "MemoryClient", "ServerEvent", "Token"]
