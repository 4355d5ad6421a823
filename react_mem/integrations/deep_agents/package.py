"""Names of the optional package `deepagents`, imported in one place with the hint how to install it."""

from __future__ import annotations

try:
    from deepagents.backends import CompositeBackend as CompositeBackend
    from deepagents.backends.protocol import BackendProtocol as BackendProtocol
    from deepagents.backends.protocol import DeleteResult as DeleteResult
    from deepagents.backends.protocol import EditResult as EditResult
    from deepagents.backends.protocol import FileData as FileData
    from deepagents.backends.protocol import FileDownloadResponse as FileDownloadResponse
    from deepagents.backends.protocol import FileInfo as FileInfo
    from deepagents.backends.protocol import FileUploadResponse as FileUploadResponse
    from deepagents.backends.protocol import GlobResult as GlobResult
    from deepagents.backends.protocol import GrepMatch as GrepMatch
    from deepagents.backends.protocol import GrepResult as GrepResult
    from deepagents.backends.protocol import LsResult as LsResult
    from deepagents.backends.protocol import ReadResult as ReadResult
    from deepagents.backends.protocol import WriteResult as WriteResult
    from deepagents.backends.utils import compile_grep_include_glob as compile_grep_include_glob
    from deepagents.backends.utils import grep_matches_from_files as grep_matches_from_files
    from deepagents.backends.utils import perform_string_replacement as perform_string_replacement
    from deepagents.backends.utils import slice_read_response as slice_read_response
    from deepagents.middleware.filesystem import FilesystemPermission as FilesystemPermission
    from wcmatch.glob import BRACE as BRACE
    from wcmatch.glob import GLOBSTAR as GLOBSTAR
    from wcmatch.glob import globmatch as globmatch
except ImportError as error:
    raise ImportError(
        "files for Deep Agents need the package deepagents: install it with `pip install 'react-mem[deepagents]'`"
    ) from error
