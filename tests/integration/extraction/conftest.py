"""A scripted model for each test."""

from tests.support.openai_server import openai_server

__all__ = ["openai_server"]
