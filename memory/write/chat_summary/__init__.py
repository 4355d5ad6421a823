"""The stateless chat summary: a conversation in, its summary and the standalone wording of the newest message out."""

from react_mem.memory.write.chat_summary.summarizer import ChatSummarizer
from react_mem.memory.write.chat_summary.summary_form import (
    ChatSummary,
    ChatSummaryRequest,
    Degradation,
    RecentMessage,
    Usage,
)

__all__ = ["ChatSummarizer", "ChatSummary", "ChatSummaryRequest", "Degradation", "RecentMessage", "Usage"]
