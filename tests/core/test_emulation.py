"""Goals for an agent that has none: commands, controls, sessions that are opened again, and the agent's own goals."""

import json

import pytest

from goalproxy.proxy.core.driver import RESTORED
from goalproxy.proxy.core.facts import CommandSeen
from goalproxy.proxy.goal.changes import GoalRestored, GoalStarted, StatusChanged, TimeUsed

from ..agents import plain, plain_at_work
from ..transcript import Play, changes, outcomes

IMAGE = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
OWN = 'update {"sessionUpdate": "session_info_update", "_meta": {"goal": {"objective": "Mine", "status": "active"}}}'
LOAD = 'client >> request 9 session/load {"cwd": "/w", "mcpServers": []}'


def chunk(text: str, **fields: str) -> str:
    """The update by which the proxy answers a command."""
    content = {"type": "text", "text": text}
    return "update " + json.dumps({"sessionUpdate": "agent_message_chunk", "content": content, **fields})


def stopped(status: str) -> Play:
    """A goal that is not active, and whose round is over."""
    play = plain_at_work()
    if status == "paused":
        play.feed("client", "control 4 pause")
        play.feed("agent", 'result $1 {"stopReason": "cancelled"}')
    elif status == "blocked":
        play.feed("agent", 'result $1 {"stopReason": "refusal"}')
    elif status == "limited":
        play.feed("agent", "error $1 -32603 quota")
    else:
        play.feed("agent", 'update {"sessionUpdate": "agent_message_chunk", "content": {"text": "GOAL-COMPLETE"}}')
        play.feed("agent", 'result $1 {"stopReason": "end_turn"}')
    play.drop_timers()
    return play


def test_all_actions_are_promised_to_the_client() -> None:
    goal = {"version": 1, "controlMethod": "_session/goal", "actions": ["set", "pause", "resume", "clear"]}
    play = Play(policy=None)
    play.engine = plain().engine
    play.run(f"""
        client >> request 1 initialize {{"protocolVersion": 1, "clientCapabilities": {{"_meta": {{"goal": {{}}}}}}}}
        agent  << same
        agent  >> result 1 {{"protocolVersion": 1}}
        client << result 1 {json.dumps({"protocolVersion": 1, "_meta": {"goal": goal}, "agentCapabilities": {"_meta": {"goal": goal}}})}
    """)


def test_a_goal_command_is_answered_at_once_and_starts_the_work() -> None:
    play = plain().run("""
        client >> prompt 3 /goal Ship it
        client << goal {"objective": "Ship it", "status": "active"}
        client << result 3 {"stopReason": "end_turn"}
        agent  << round $1 1
        client << goal {"iterations": 1}
    """)
    assert changes(play, GoalStarted) == [GoalStarted()]


def test_content_beside_a_command_goes_with_the_first_round_alone() -> None:
    prompt = json.dumps({"prompt": [IMAGE, {"type": "text", "text": "/goal Ship it"}]})
    play = plain().run(f"""
        client >> request 3 session/prompt {prompt}
        client << goal {{"objective": "Ship it"}}
        client << result 3 {{"stopReason": "end_turn"}}
        agent  << round $1 1
        client << goal {{"iterations": 1}}
        agent  >> result $1 {{"stopReason": "end_turn"}}
        client << goal {{"status": "active"}}
        timers
        agent  << round $2 2
        client << goal {{"iterations": 2}}
    """)
    assert play.prompts[0][1:] == [IMAGE]
    assert len(play.prompts[1]) == 1


def test_content_of_a_goal_that_was_replaced_before_its_first_round_is_gone() -> None:
    play = plain()
    play.feed("client", "prompt 3 hello")
    prompt = json.dumps({"prompt": [IMAGE, {"type": "text", "text": "/goal Ship it"}]})
    play.feed("client", f"request 4 session/prompt {prompt}")
    play.feed("client", "control 5 set Ship that")
    play.run("""
        agent  >> result 3 {"stopReason": "end_turn"}
        client << same
        agent  << round $1 1
        client << goal {"objective": "Ship that", "iterations": 1}
    """)
    assert len(play.prompts[0]) == 1


def test_a_prompt_that_holds_the_goal_is_answered_when_it_stops() -> None:
    plain(turns="held").run("""
        client >> prompt 3 /goal Ship it
        client << goal {"status": "active"}
        agent  << round $1 1
        client << goal {"iterations": 1}
        agent  >> result $1 {"stopReason": "refusal"}
        client << goal {"status": "active"}
        client << goal {"status": "blocked"}
        client << result 3 {"stopReason": "end_turn"}
    """)


@pytest.mark.parametrize("on_cancel", ["pause", "turn"])
def test_cancel_answers_the_prompt_that_holds_the_goal(on_cancel: str) -> None:
    play = plain(turns="held", on_cancel=on_cancel)
    play.feed("client", "prompt 3 /goal Ship it")
    paused = 'client << goal {"status": "paused"}' if on_cancel == "pause" else ""
    play.run(f"""
        client >> notify session/cancel {{}}
        agent  << same
        client << result 3 {{"stopReason": "cancelled"}}
        {paused}
    """)


def test_taking_back_the_prompt_that_holds_the_goal_is_a_cancel() -> None:
    play = plain(turns="held")
    play.feed("client", "prompt 3 /goal Ship it")
    play.run("""
        client >> notify $/cancel_request {"requestId": 3, "sessionId": null}
        client << error 3 -32800
        agent  << notify session/cancel {}
        client << goal {"status": "paused"}
    """)


def test_in_version_2_no_prompt_holds_a_goal() -> None:
    plain(turns="held", protocol=2).run("""
        client >> prompt 3 /goal Ship it
        client << goal {"status": "active"}
        client << result 3 {}
        client << update {"sessionUpdate": "user_message", "messageId": "goalproxy-t-1-user", "content": [{"type": "text", "text": "/goal Ship it"}]}
        client << update {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
        agent  << round $2 1
        client << goal {"iterations": 1}
    """)


def test_in_version_2_no_idle_is_made_up_during_a_round() -> None:
    plain_at_work(protocol=2).run("""
        client >> prompt 4 /goal pause
        agent  << notify session/cancel {}
        client << goal {"status": "paused"}
        client << result 4 {}
        client << update {"sessionUpdate": "user_message", "messageId": "goalproxy-t-2-user", "content": [{"type": "text", "text": "/goal pause"}]}
    """)


def steering(ident: int, text: str, *others: object) -> str:
    """The client steers, as a line of a transcript."""
    return f"request {ident} _session/steering " + json.dumps({"prompt": [*others, {"type": "text", "text": text}]})


def test_a_steered_command_is_carried_out_and_not_text_for_the_model() -> None:
    play = plain().run(f"""
        client >> {steering(3, "/goal Ship it", IMAGE)}
        client << goal {{"objective": "Ship it", "status": "active"}}
        client << result 3 {{"outcome": "startedNewTurn"}}
        agent  << round $1 1
        client << goal {{"iterations": 1}}
        client >> {steering(4, "/goal edit Ship that")}
        client << goal {{"objective": "Ship that"}}
        client << result 4 {{"outcome": "injected"}}
        client >> {steering(5, "/goal pause")}
        agent  << notify session/cancel {{}}
        client << goal {{"status": "paused"}}
        client << result 5 {{"outcome": "injected"}}
        client >> {steering(6, "/goal pause")}
        client << result 6 {{"outcome": "injected"}}
        client >> {steering(7, "/goal clear")}
        client << goal null
        client << result 7 {{"outcome": "injected"}}
        client >> {steering(8, "/goal pause")}
        client << error 8 -32602 no goal to pause
        agent  >> result $1 {{"stopReason": "cancelled"}}
        timers
    """)
    assert play.prompts[0][1:] == [IMAGE]
    assert [fact.word for fact in play.facts if isinstance(fact, CommandSeen)] == [
        "set",
        "set",
        "pause",
        "pause",
        "clear",
        "pause",
    ]


@pytest.mark.parametrize("protocol", [1, 2])
def test_a_steered_question_for_the_status_is_answered(protocol: int) -> None:
    text = "No goal is set. Set one with: /goal <objective>"
    told = chunk(text) if protocol == 1 else chunk(text, messageId="goalproxy-t-1")
    plain(protocol=protocol).run(f"""
        client >> {steering(3, "/goal")}
        client << {told}
        client << result 3 {{"outcome": "injected"}}
    """)


def test_other_text_is_steered_as_it_is() -> None:
    plain_at_work().run(f"""
        client >> {steering(4, "look at the goals first")}
        agent  << same
        agent  >> result 4 {{"outcome": "injected"}}
        client << same
    """)


def test_an_edit_keeps_the_goal_and_its_counters() -> None:
    play = plain_at_work().run("""
        client >> prompt 4 /goal edit Ship\tthat
        client << goal {"objective": "Ship\\tthat", "status": "active", "iterations": 1}
        client << result 4 {"stopReason": "end_turn"}
        agent  >> result $1 {"stopReason": "end_turn"}
        client << goal {"iterations": 1}
        timers
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)
    assert "<objective>\nShip\tthat\n</objective>" in play.prompts[-1][0]["text"]
    assert len({snapshot["createdAt"] for snapshot in play.snapshots if snapshot}) == 1


def test_without_a_goal_edit_is_a_word_like_any_other() -> None:
    plain().run("""
        client >> prompt 3 /goal edit the README
        client << goal {"objective": "edit the README"}
        client << result 3 {"stopReason": "end_turn"}
        agent  << round $1 1
        client << goal {"iterations": 1}
    """)


def test_the_status_is_answered_without_a_model_call_and_disturbs_nothing() -> None:
    text = "Goal (active): Ship it\nRounds seen: 1\nWorking time last reported: 0 s\nControl it with: /goal pause, /goal resume, /goal clear"
    plain_at_work().run(f"""
        client >> prompt 4 /goal status
        client << {chunk(text)}
        client << result 4 {{"stopReason": "end_turn"}}
    """)


def test_a_command_that_cannot_be_is_answered_with_the_reason() -> None:
    plain().run(f"""
        client >> prompt 3 /goal pause
        client << {chunk("There is no goal to pause.")}
        client << result 3 {{"stopReason": "end_turn"}}
    """)


@pytest.mark.parametrize("status", ["paused", "blocked", "limited"])
def test_a_goal_that_stopped_can_be_resumed_and_goes_on_counting(status: str) -> None:
    stopped(status).run("""
        client >> control 5 resume
        client << goal {"status": "active", "iterations": 1}
        client << result 5 {}
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_a_complete_goal_stays_as_it_is(action: str) -> None:
    stopped("complete").run(f"""
        client >> control 5 {action}
        client << error 5 -32602 The
        timers
    """)


def test_a_control_that_changes_nothing_is_answered_all_the_same() -> None:
    stopped("paused").run("""
        client >> control 5 pause
        client << result 5 {}
        client >> control 6 clear
        client << goal null
        client << result 6 {}
        client >> control 7 clear
        client << result 7 {}
        client >> control 8 resume
        client << error 8 -32602 The
    """)


@pytest.mark.parametrize(
    "params",
    [
        '{"action": "stop"}',
        '{"action": "set", "objective": " "}',
        '{"action": "pause", "sessionId": "other"}',
        '{"action": "pause", "expectedGoal": {"objective": "Other"}}',
        '{"action": "set", "objective": "x", "tokenBudget": 0}',
        "[]",
    ],
)
def test_a_control_that_is_wrong_is_refused_and_changes_nothing(params: str) -> None:
    play = plain_at_work()
    before = list(play.stores)
    play.run(f"client >> request 4 _session/goal {params}\nclient << error 4 -32602")
    assert play.stores == before


def test_setting_the_same_words_is_a_new_goal() -> None:
    play = plain_at_work().run("""
        client >> control 4 set Ship it
        agent  << notify session/cancel {}
        client << goal {"objective": "Ship it", "iterations": 0, "timeUsedSeconds": 0}
        client << result 4 {}
    """)
    old, new = play.stores[0], play.stores[-1]
    assert old is not None
    assert new is not None
    assert (new.id != old.id, new.created_at > old.created_at) == (True, True)


# Sessions


def test_a_session_that_is_loaded_again_has_its_goal_paused() -> None:
    play = plain_at_work()
    play.feed("client", "request 8 session/close {}")
    play.feed("agent", "result 8 {}")
    play.facts.clear()
    play.run(f"""
        {LOAD}
        agent  << same
        agent  >> result 9 {{}}
        client << same
        store  << asked disarmed
        store  >> loaded disarmed 1
        client << goal {{"objective": "Ship it", "status": "paused", "iterations": 1}}
        timers
        client << update {json.dumps({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "goal", "description": "Set, pause, resume or clear a goal that the agent keeps working on.", "input": {"hint": "[<objective>|pause|resume|clear]"}}]})}
        client >> control 10 resume
        client << goal {{"status": "active", "iterations": 1}}
        client << result 10 {{}}
        agent  << round $2 2
        client << goal {{"iterations": 2}}
    """)
    assert changes(play, GoalRestored, StatusChanged)[:2] == [GoalRestored(), StatusChanged(None, "paused")]
    assert changes(play, TimeUsed) == [], "time is told once"


def test_the_client_may_want_a_goal_to_go_on_after_loading() -> None:
    play = plain_at_work()
    play.feed("client", "request 8 session/close {}")
    play.feed("agent", "result 8 {}")
    play.run("""
        client >> request 9 session/resume {"cwd": "/w", "mcpServers": [], "_meta": {"goal": {"resumePolicy": "preserve"}}}
        agent  << same
        agent  >> result 9 {}
        client << same
        store  << asked preserve
        store  >> loaded preserve 1
        client << goal {"status": "active", "iterations": 1}
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_a_paused_goal_stays_paused_whatever_the_client_wants() -> None:
    play = stopped("paused")
    play.feed("client", "request 8 session/close {}")
    play.feed("agent", "result 8 {}")
    play.run(f"""
        {LOAD}
        agent  << same
        agent  >> result 9 {{}}
        client << same
        store  << asked disarmed
        store  >> loaded preserve {len(play.stores) - 1}
        client << goal {{"status": "paused"}}
    """)


def test_no_goal_is_told_once_the_store_has_none() -> None:
    plain().run("""
        client >> request 9 session/load {"sessionId": "old", "cwd": "/w", "mcpServers": []}
        agent  << same
        agent  >> update {"sessionId": "old", "sessionUpdate": "user_message_chunk", "content": {"text": "/goal x"}}
        client << same
        agent  >> result 9 {}
        client << same
        store  << asked disarmed
    """)


def test_a_fork_begins_without_a_goal() -> None:
    plain_at_work().run("""
        client >> request 9 session/fork {"cwd": "/w", "mcpServers": []}
        agent  << same
        agent  >> result 9 {"sessionId": "fork"}
        client << same
        client << goal null
    """)


def test_a_session_can_be_controlled_while_it_is_loaded_again() -> None:
    plain_at_work().run(f"""
        {LOAD}
        agent  << same
        client >> control 10 pause
        agent  << notify session/cancel {{}}
        client << result 10 {{}}
        agent  >> result $1 {{"stopReason": "cancelled"}}
        agent  >> result 9 {{}}
        client << same
        client << goal {{"objective": "Ship it", "status": "paused"}}
        client >> request 11 session/load {{"sessionId": "other", "cwd": "/w", "mcpServers": []}}
        agent  << same
        client >> request 12 _session/goal {{"sessionId": "other", "action": "pause"}}
        client << error 12 -32602 Unknown session: other
    """)


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_an_open_session_that_is_opened_again_has_its_goal_paused(method: str) -> None:
    plain_at_work().run(f"""
        client >> request 9 {method} {{"cwd": "/w", "mcpServers": []}}
        agent  << same
        agent  >> result 9 {{}}
        client << same
        agent  << notify session/cancel {{}}
        client << goal {{"status": "paused", "lastReason": "{RESTORED}", "iterations": 1}}
        agent  >> result $1 {{"stopReason": "cancelled"}}
        client >> control 10 resume
        client << goal {{"status": "active"}}
        client << result 10 {{}}
        agent  << round $2 2
        client << goal {{"iterations": 2}}
    """)


def test_an_open_session_that_is_opened_again_with_preserve_goes_on() -> None:
    play = plain_at_work().run("""
        client >> request 9 session/load {"cwd": "/w", "mcpServers": [], "_meta": {"goal": {"resumePolicy": "preserve"}}}
        agent  << same
        agent  >> result 9 {}
        client << same
        client << goal {"status": "active", "iterations": 1}
    """)
    play.drop_timers()
    play.run("""
        agent  >> result $1 {"stopReason": "end_turn"}
        client << goal {"status": "active"}
        timers
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_loading_that_fails_leaves_an_open_session_as_it_was() -> None:
    plain_at_work().run(f"""
        {LOAD}
        agent  << same
        agent  >> error 9 -32603 no
        client << same
        client >> control 10 pause
        agent  << notify session/cancel {{}}
        client << goal {{"status": "paused"}}
        client << result 10 {{}}
    """)


def test_a_session_that_is_closed_gets_no_rounds_and_keeps_its_goal_in_the_store() -> None:
    play = plain_at_work(turns="held").run("""
        client >> prompt 4 first
        agent  << notify session/cancel {}
        client >> request 8 session/close {}
        agent  << same
        agent  >> result 8 {}
        client << same
        client << result 4 {"stopReason": "cancelled"}
        agent  >> result $1 {"stopReason": "cancelled"}
        timers
    """)
    assert play.stores[-1] is not None
    assert changes(play, StatusChanged)[-1] == StatusChanged("active", None)


def test_the_end_of_a_round_of_a_closed_session_is_not_that_of_the_session_opened_again() -> None:
    play = plain_at_work()
    play.feed("client", "request 8 session/close {}")
    play.feed("agent", "result 8 {}")
    play.feed("client", LOAD.removeprefix("client >> "))
    play.feed("agent", "result 9 {}")
    play.feed("client", "control 10 set Ship that")
    play.run("""
        agent  >> result $1 {"stopReason": "refusal"}
        agent  >> result $2 {"stopReason": "refusal"}
        client << goal {"objective": "Ship that", "status": "active"}
        client << goal {"objective": "Ship that", "status": "blocked"}
    """)


def test_a_session_that_is_deleted_is_deleted_in_the_store_too() -> None:
    play = plain_at_work()
    play.feed("client", "request 8 session/delete {}")
    play.feed("agent", "result 8 {}")
    assert play.stores[-1] is None


def test_what_is_kept_is_answered_when_the_agent_ends() -> None:
    play = plain(turns="held")
    play.feed("client", "prompt 3 /goal Ship it")
    play.feed("client", "prompt 4 first")
    play.run("""
        agent gone
        client << result 4 {"stopReason": "cancelled"}
        client << result 3 {"stopReason": "cancelled"}
        timers
    """)
    assert outcomes(play) == ["ended_unknown"]


# The agent's own goals


def test_an_agent_that_publishes_goals_itself_is_the_only_driver_from_then_on() -> None:
    play = plain_at_work().run(f"""
        agent  >> {OWN}
        client << same
        agent  << notify session/cancel {{}}
        client >> prompt 4 hello
        agent  >> result $1 {{"stopReason": "cancelled"}}
        agent  << prompt 4 hello
        agent  >> result 4 {{"stopReason": "end_turn"}}
        client << same
        timers
        client >> prompt 5 /goal pause
        agent  << same
        client >> control 6 pause
        agent  << same
        agent  >> result 6 {{}}
        client << same
        agent  >> update {{"sessionUpdate": "session_info_update", "_meta": {{"goal": null}}}}
        client << same
    """)
    assert play.stores[-1] is None


def test_a_prompt_that_held_the_proxys_goal_ends_with_it() -> None:
    play = plain(turns="held")
    play.feed("client", "prompt 3 /goal Ship it")
    play.run(f"""
        agent  >> {OWN}
        client << same
        agent  << notify session/cancel {{}}
        client << result 3 {{"stopReason": "end_turn"}}
    """)


def test_an_agent_that_says_it_has_no_goal_says_nothing_of_the_proxys() -> None:
    plain_at_work().run("""
        agent  >> update {"sessionUpdate": "session_info_update", "title": "T", "_meta": {"goal": null, "x": 1}}
        client << update {"sessionUpdate": "session_info_update", "title": "T", "_meta": {"x": 1}}
    """)


def test_a_child_session_publishes_for_itself() -> None:
    plain_at_work().run("""
        agent  >> notify session/update {"sessionId": "child", "update": {"sessionUpdate": "session_info_update", "_meta": {"goal": {"objective": "Mine"}}}}
        client << same
        agent  >> result $1 {"stopReason": "end_turn"}
        client << goal {"objective": "Ship it", "status": "active"}
    """)


def test_no_round_begins_in_a_session_that_is_being_closed() -> None:
    plain_at_work().run("""
        client >> request 8 session/close {}
        agent  << same
        agent  >> result $1 {"stopReason": "end_turn"}
        client << goal {"status": "active"}
        timers
        agent  >> error 8 -32603 no
        client << same
        agent  << round $2 2
        client << goal {"iterations": 2}
    """)


def test_in_version_2_a_meta_that_is_cleared_is_filled_again() -> None:
    plain_at_work(protocol=2).run("""
        agent  >> update {"sessionUpdate": "session_info_update", "_meta": null}
        client << same
        client << goal {"objective": "Ship it"}
    """)


def test_in_version_2_a_null_meta_of_anything_else_clears_nothing() -> None:
    plain_at_work(protocol=2).run("""
        agent  >> update {"sessionUpdate": "state_update", "state": "running", "_meta": null}
        client << same
        agent  >> update {"sessionUpdate": "session_info_update", "title": "T"}
        client << same
    """)
