"""What tests assert again and again about replies, and the one opening that most of them share."""

from typing import Final

from .client import Reply
from .scene import OBJECTIVE, Scene
from .traffic import Json

INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601


def refused(reply: Reply, *words: str, code: int = INVALID_PARAMS) -> None:
    """Assert that a request was refused with a sentence, which has these words in it."""
    assert reply.error is not None, f"accepted: {reply.result}"
    assert reply.error["code"] == code, reply.error
    message = reply.error["message"]
    assert len(message.split()) >= 3, f"not a sentence: {message!r}"
    assert all(word in message for word in words), f"{message!r} lacks one of {words}"


def done(reply: Reply) -> None:
    """Assert that a control request answered with an empty object."""
    assert reply.error is None, reply.error
    assert reply.result == {}


def ended(reply: Reply, reason: str = "end_turn") -> Reply:
    """Assert that a prompt ended for this reason; return its reply."""
    assert reply.error is None, reply.error
    assert reply.result is not None
    assert reply.result["stopReason"] == reason
    return reply


def work(scene: Scene) -> Json:
    """Set a goal by control and return its snapshot once the model works on it; that turn, the first, is held."""
    done(scene.control("set", objective=OBJECTIVE))
    goal = scene.expect("active").goal
    scene.model.asked(1)
    return goal
