"""Which questions for leave are about the proxy's own tools, where the agent does not name the tool in its question."""

import json

from goalproxy.proxy.core.driver import Driver, Limits
from goalproxy.proxy.core.permissions import is_goal_tool
from goalproxy.proxy.core.session import Session
from goalproxy.proxy.goal.tracker import Tracker

ARGUMENTS = {"goal_id": "goal-1", "revision": 2, "action": "complete", "reason": "done"}


def session() -> Session:
    """Return a session with the tools and a goal."""
    made = Session("s", Tracker())
    made.tool_titles = frozenset({"goal_update_goal"})
    made.driver = Driver(Limits())
    made.driver.set("goal-1", "Ship it", 1)
    return made


def test_a_call_that_is_named_by_its_arguments_is_a_report_on_this_goal() -> None:
    """Qwen Code 0.15 asks so."""
    assert is_goal_tool(session(), {"title": json.dumps(ARGUMENTS), "rawInput": ARGUMENTS})


def test_another_goal_another_field_or_another_name_is_somebody_elses_tool() -> None:
    """The user is asked then."""
    for given in ({**ARGUMENTS, "goal_id": "goal-2"}, {**ARGUMENTS, "command": "rm"}, {}):
        assert not is_goal_tool(session(), {"title": json.dumps(given), "rawInput": given})
    for title in ("run", "", "\ud800", 5, None):
        assert not is_goal_tool(session(), {"title": title, "rawInput": ARGUMENTS})


def test_a_call_that_is_only_an_id_is_what_the_agent_called_it_before() -> None:
    """Mistral Vibe asks so. A name in the question counts more than the one before, and an id may be used again."""
    asking = session()
    assert asking.driver is not None
    asking.driver.begin_round(1)
    assert asking.driver.round is not None
    asking.driver.round.called("1", "pending", counts=False)
    asking.driver.round.called("2", "pending", counts=True)
    assert is_goal_tool(asking, {"toolCallId": "1"})
    assert not is_goal_tool(asking, {"toolCallId": "1", "kind": "execute"})
    assert not is_goal_tool(asking, {"toolCallId": "1", "title": "rm"})
    assert not is_goal_tool(asking, {"toolCallId": "2"})
    assert not is_goal_tool(asking, {"toolCallId": ["1"]})
    asking.driver.round = None
    assert not is_goal_tool(asking, {"toolCallId": "1"})
