"""The methods and updates of the Agent Client Protocol that routing knows, versions 1 and 2.

Everything else passes; a name stands here only because something is done about it.
"""

INITIALIZE = "initialize"
NEW = "session/new"
LOAD = "session/load"
RESUME = "session/resume"
FORK = "session/fork"
CLOSE = "session/close"
DELETE = "session/delete"
PROMPT = "session/prompt"
CANCEL = "session/cancel"
UPDATE = "session/update"
STEERING = "_session/steering"
PERMISSION = "session/request_permission"
CANCEL_REQUEST = "$/cancel_request"

OPENING = frozenset({NEW, LOAD, RESUME, FORK})
"""Requests after whose response the client knows a session."""

ENDING = frozenset({CLOSE, DELETE})
"""Requests after whose response a session is gone."""

SESSION_INFO = "session_info_update"
COMMANDS = "available_commands_update"
STATE = "state_update"
USAGE = "usage_update"
MESSAGE_CHUNK = "agent_message_chunk"

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800

_FIRST_OF_V2 = 2


def is_v2(protocol: int) -> bool:
    """Whether a protocol version has the shapes of version 2."""
    return protocol >= _FIRST_OF_V2
