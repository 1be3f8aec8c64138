"""Control requests: prompt replies, after the snapshot; late replies swallowed; refusals that change nothing."""

import json

import pytest

from goalproxy.proxy.core.facts import ControlAnswered

from ..agents import CREATED, codex, gone, mark, neutral, snapshot
from ..transcript import Play

ACTIVE = snapshot("air", objective="Ship it", status="active", tokensUsed=0)
PAUSED = snapshot("air", objective="Ship it", status="paused", tokensUsed=500)


def at_work() -> Play:
    """A Codex that works for a goal; the reply to the control that set it is still to come, under ``$1``."""
    play = codex("2.6.0")
    play.feed("client", "control 3 set Ship it")
    play.feed("agent", ACTIVE)
    play.drop_timers()
    play.facts.clear()
    return play


def results(play: Play) -> list[tuple[str, str]]:
    """What became of control requests, as observers were told."""
    return [(fact.action, fact.result) for fact in play.facts if isinstance(fact, ControlAnswered)]


def test_a_control_is_answered_by_the_agents_snapshot_and_its_late_reply_is_swallowed() -> None:
    codex("2.6.0").run(f"""
        client >> control 3 set   Ship it
        agent  << request $1 _session/goal {{"action": "set", "objective": "Ship it"}}
        agent  >> {ACTIVE}
        client << goal {{"objective": "Ship it", "status": "active", "controlMethod": "_session/goal"}}
        client << result 3 {{}}
        agent  >> result $1 {{}}
    """)


def test_an_agent_that_says_nothing_is_answered_for_when_it_had_time_to_refuse() -> None:
    codex("2.6.0").run("""
        client >> control 3 set Ship it
        agent  << request $1 _session/goal {"action": "set", "objective": "Ship it"}
        timers
        client << goal {"objective": "Ship it", "status": "active"}
        client << result 3 {}
        agent  >> result $1 {}
    """)


def test_a_refusal_reaches_the_client_and_nothing_was_shown() -> None:
    play = neutral().run("""
        client >> control 3 set Ship it
        agent  << request $1 _session/goal {"action": "set", "objective": "Ship it"}
        agent  >> error $1 -32603 hooks are off
        client << error 3 -32603 hooks are off
        timers
    """)
    assert results(play) == [("set", "refused")]


def test_a_late_refusal_rolls_back_and_is_published() -> None:
    play = neutral().run("""
        client >> control 3 set Ship it
        agent  << request $1 _session/goal {"action": "set", "objective": "Ship it"}
        timers
        client << goal {"objective": "Ship it"}
        client << result 3 {}
        agent  >> error $1 -32603 boom
        client << goal null
    """)
    assert results(play) == [("set", "ok"), ("set", "late_error")]


def test_pause_resume_and_clear_show_their_outcome_before_their_reply() -> None:
    at_work().run(f"""
        client >> control 4 pause
        agent  << request $2 _session/goal {{"action": "pause"}}
        agent  >> {PAUSED}
        client << goal {{"status": "paused", "tokensUsed": 500}}
        client << result 4 {{}}
        agent  >> result $2 {{}}
        client >> control 5 resume
        agent  << request $3 _session/goal {{"action": "resume"}}
        agent  >> {ACTIVE}
        client << goal {{"status": "active"}}
        client << result 5 {{}}
        client >> control 6 clear
        agent  << request $4 _session/goal {{"action": "clear"}}
        agent  >> {gone("air")}
        client << goal null
        client << result 6 {{}}
        agent  >> result $3 {{}}
        agent  >> result $4 {{}}
    """)


def test_pausing_twice_asks_the_agent_once() -> None:
    at_work().run(f"""
        client >> control 4 pause
        agent  << request $2 _session/goal {{"action": "pause"}}
        agent  >> {PAUSED}
        client << goal {{"status": "paused"}}
        client << result 4 {{}}
        client >> control 5 pause
        client << result 5 {{}}
    """)


def test_clear_without_a_goal_is_passed_on_all_the_same() -> None:
    codex("2.6.0").run("""
        client >> control 3 clear
        agent  << request $1 _session/goal {"action": "clear"}
        agent  >> result $1 {}
        client << result 3 {}
    """)


def test_setting_again_is_a_new_goal_even_with_the_same_words() -> None:
    play = at_work().run(f"""
        client >> control 4 set Ship it
        agent  << request $2 _session/goal {{"action": "set", "objective": "Ship it"}}
        agent  >> {snapshot("air", objective="Ship it", status="active", tokensUsed=900)}
        client << goal {{"objective": "Ship it", "tokensUsed": 0}}
        client << result 4 {{}}
        agent  >> {snapshot("air", objective="Ship it", status="complete", tokensUsed=950)}
        client << goal {{"status": "complete", "tokensUsed": 50}}
    """)
    first, last = play.snapshots
    assert first is not None
    assert last is not None
    assert first["createdAt"] == last["createdAt"] > CREATED


def test_of_two_sets_at_once_the_second_counts_and_late_words_about_the_first_are_ignored() -> None:
    neutral().run(f"""
        client >> control 3 set A
        agent  << request $1 _session/goal {{"action": "set", "objective": "A"}}
        client >> control 4 set B
        agent  << request $2 _session/goal {{"action": "set", "objective": "B"}}
        agent  >> {snapshot("neutral", objective="B", status="active")}
        client << goal {{"objective": "B"}}
        client << result 3 {{}}
        client << result 4 {{}}
        agent  >> error $1 -32603 superseded
        agent  >> result $2 {{}}
    """)


def test_while_a_goal_is_replaced_the_end_of_the_old_one_is_not_the_new_ones() -> None:
    play = at_work().run(f"""
        client >> control 4 set Ship that
        agent  << request $2 _session/goal {{"action": "set", "objective": "Ship that"}}
        agent  >> {snapshot("air", objective="Ship it", status="complete")}
        agent  >> {snapshot("air", objective="Ship that", status="active")}
        client << goal {{"objective": "Ship that", "status": "active"}}
        client << result 4 {{}}
        agent  >> {snapshot("air", objective="Ship it", status="complete")}
    """)
    assert [type(fact).__name__ for fact in play.facts].count("GoalChanged") >= 3


def test_codex_1_1_7_is_paused_and_cleared_by_its_old_method_and_set_and_resumed_by_prompts() -> None:
    codex("1.1.7").run(f"""
        client >> control 3 set Ship it
        agent  << request $1 session/prompt {{"prompt": [{{"type": "text", "text": "/goal Ship it"}}]}}
        agent  >> {snapshot("codex", objective="Ship it", status="active", createdAt=CREATED // 1000)}
        client << same
        client << goal {{"objective": "Ship it", "status": "active", "createdAt": {CREATED}}}
        client << result 3 {{}}
        client >> control 4 pause
        agent  << request $2 _codex/session/goal_control {{"action": "pause"}}
        agent  >> result $2 {{}}
        client << goal {{"status": "paused"}}
        client << result 4 {{}}
        client >> control 5 resume
        agent  << request $3 session/prompt {{"prompt": [{{"type": "text", "text": "/goal resume"}}]}}
        agent  >> {snapshot("codex", objective="Ship it", status="active", createdAt=CREATED // 1000)}
        client << same
        client << goal {{"status": "active"}}
        client << result 5 {{}}
        client >> control 6 clear
        agent  << request $4 _codex/session/goal_control {{"action": "clear"}}
        agent  >> {gone("codex")}
        client << same
        client << goal null
        client << result 6 {{}}
        agent  >> result $4 {{}}
        agent  >> result $1 {{"stopReason": "end_turn"}}
        agent  >> result $3 {{"stopReason": "end_turn"}}
    """)


def test_codex_1_1_0_is_controlled_by_prompts_alone() -> None:
    codex("1.1.0").run("""
        client >> control 3 clear
        agent  << request $1 session/prompt {"prompt": [{"type": "text", "text": "/goal clear"}]}
        agent  >> error $1 -32603 no
        client << error 3 -32603 no
    """)


@pytest.mark.parametrize(
    ("version", "as_prompt"), [("1.1.13", True), ("1.13.1", True), ("2.2.2", True), ("2.3.0", False)]
)
def test_before_the_first_prompt_a_codex_that_drops_events_is_set_by_a_prompt(version: str, *, as_prompt: bool) -> None:
    how = (
        'session/prompt {"prompt": [{"type": "text", "text": "/goal X"}]}'
        if as_prompt
        else '_session/goal {"action": "set", "objective": "X"}'
    )
    codex(version).run(f"""
        client >> control 3 set X
        agent  << request $1 {how}
    """)


def test_after_a_prompt_codex_1_13_is_set_by_its_method() -> None:
    codex("1.13.1").run("""
        client >> prompt 3 hello
        agent  << same
        client >> control 4 set X
        agent  << request $1 _session/goal {"action": "set", "objective": "X"}
    """)


def test_an_objective_that_a_prompt_would_turn_into_a_command_is_refused_where_only_prompts_set_goals() -> None:
    codex("1.1.7").run("""
        client >> control 3 set Pause
        client << error 3 -32602 say it in other words
    """)
    codex("1.13.1").run("""
        client >> control 3 set Pause
        agent  << request $1 _session/goal {"action": "set", "objective": "Pause"}
    """)


def test_a_prompt_that_sets_nothing_is_a_refusal() -> None:
    codex("1.1.0").run("""
        client >> control 3 set X
        agent  << request $1 session/prompt {"prompt": [{"type": "text", "text": "/goal X"}]}
        agent  >> result $1 {"stopReason": "end_turn"}
        client << error 3 -32603 did not take
    """)


@pytest.mark.parametrize(
    ("alias", "action"),
    [("_codex/session/goal_control", "pause"), ("_session/goal_control", "pause"), ("_session/goal_control", "update")],
)
def test_aliases_are_translated(alias: str, action: str) -> None:
    play = at_work()
    sent = {"action": "set", "objective": "X"} if action == "update" else {"action": action}
    asked = {**sent, "action": action}
    play.run(f"""
        client >> request 4 {alias} {json.dumps(asked)}
        agent  << request $2 _session/goal {json.dumps(sent)}
        timers
        client << goal {{}}
        client << result 4 {{}}
    """)


def test_update_is_no_action_under_the_neutral_name() -> None:
    at_work().run("""
        client >> request 4 _session/goal {"action": "update", "objective": "X"}
        client << error 4 -32602 must be one of
    """)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ("[]", "must be an object"),
        ("null", "must be an object"),
        ('{"sessionId": "", "action": "pause"}', "needs a sessionId"),
        ('{"sessionId": 5, "action": "pause"}', "needs a sessionId"),
        ('{"sessionId": "nope", "action": "pause"}', "Unknown session: nope"),
        ("{}", "must be one of set, pause, resume, clear"),
        ('{"action": "fly"}', "must be one of"),
        ('{"action": ["pause"]}', "must be one of"),
        ('{"action": "set"}', "not blank"),
        ('{"action": "set", "objective": "  "}', "not blank"),
        ('{"action": "set", "objective": 7}', "not blank"),
        ('{"action": "set", "objective": "%s"}' % ("x" * 4001), "4001 characters; this agent takes at most 4000"),
        ('{"action": "set", "objective": "x", "tokenBudget": 0}', "positive integer"),
        ('{"action": "set", "objective": "x", "tokenBudget": 1' + "0" * 400 + "}", "positive integer"),
        ('{"action": "set", "objective": "x", "tokenBudget": true}', "positive integer"),
        ('{"action": "set", "objective": "x", "tokenBudget": 5}', "no way to give a goal a tokenBudget"),
        ('{"action": "pause", "expectedGoal": 7}', "must be an object"),
        ('{"action": "pause", "expectedGoal": {"objective": "Ship that"}}', "not the expected one"),
        ('{"action": "pause", "expectedGoal": {"createdAt": 1}}', "not the expected one"),
        ('{"action": "clear", "expectedGoal": {"objective": null}}', "not the expected one"),
    ],
)
def test_a_wrong_request_is_answered_with_a_sentence_and_asks_the_agent_nothing(params: str, words: str) -> None:
    play = at_work().run(f"""
        client >> request 4 _session/goal {params}
        client << error 4 -32602 {words}
    """)
    assert [result for _, result in results(play)] == ["invalid"]


def test_the_expected_goal_and_unknown_fields_are_accepted() -> None:
    at_work().run("""
        client >> request 4 _session/goal {"action": "pause", "expectedGoal": {"objective": "Ship it", "createdAt": 1790000005000, "x": 1}, "tokenBudget": null, "colour": "red"}
        agent  << request $2 _session/goal {"action": "pause"}
    """)


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_there_is_nothing_to_pause_or_resume_without_a_goal_or_after_its_end(action: str) -> None:
    codex("2.6.0").run(f"""
        client >> control 3 {action}
        client << error 3 -32602 There is no goal to {action}.
    """)
    at_work().run(f"""
        agent  >> {snapshot("air", objective="Ship it", status="complete")}
        client << goal {{"status": "complete"}}
        client >> control 4 {action}
        client << error 4 -32602 The goal is complete
    """)


@pytest.mark.parametrize("status", ["paused", "blocked", "usageLimited"])
def test_a_stopped_goal_can_be_resumed(status: str) -> None:
    at_work().run(f"""
        agent  >> {snapshot("air", objective="Ship it", status=status)}
        client << goal {{}}
        client >> control 4 resume
        agent  << request $2 _session/goal {{"action": "resume"}}
        agent  >> {snapshot("air", objective="Ship it", status=status)}
        agent  >> {ACTIVE}
        client << goal {{"status": "active"}}
        client << result 4 {{}}
    """)


@pytest.mark.parametrize(
    "goal", [{"status": "budgetLimited"}, {"status": "limited", "tokenBudget": 3000, "tokensUsed": 4230}]
)
def test_a_goal_that_its_budget_stopped_is_not_said_to_be_resumed(goal: dict[str, object]) -> None:
    at_work().run(f"""
        agent  >> {snapshot("air", objective="Ship it", **goal)}
        client << goal {{"status": "limited"}}
        client >> control 4 resume
        client << error 4 -32602 used up
    """)


def test_only_advertised_actions_are_carried_out() -> None:
    neutral("set", "clear").run("""
        client >> control 3 pause
        client << error 3 -32602 This agent cannot pause a goal; it can: set, clear.
    """)


def test_an_agent_without_goals_answers_for_itself() -> None:
    play = Play()
    play.feed("client", 'request 1 initialize {"protocolVersion": 1}')
    play.feed("agent", 'result 1 {"agentInfo": {"name": "x"}}')
    play.run("""
        client >> control 3 pause
        agent  << same
        client >> request 4 _codex/session/goal_control {"action": "pause"}
        agent  << same
        agent  >> error 3 -32601
        client << same
    """)


def test_a_client_can_take_a_control_back_that_is_not_answered_yet() -> None:
    neutral().run("""
        client >> control 3 set X
        agent  << request $1 _session/goal {"action": "set", "objective": "X"}
        client >> notify $/cancel_request {"sessionId": null, "requestId": 3.0}
        agent  << same
        client >> notify $/cancel_request {"sessionId": null, "requestId": 3}
        agent  << notify $/cancel_request {"sessionId": null, "requestId": "goalproxy-t-1"}
        client << error 3 -32800 cancelled
        agent  >> error $1 -32800
        timers
    """)


def test_a_control_that_the_agent_takes_to_its_grave_is_answered() -> None:
    neutral().run("""
        client >> control 3 set X
        agent  << request $1 _session/goal {"action": "set", "objective": "X"}
        agent gone
        client << error 3 -32603 The agent ended
    """)


def test_a_control_under_the_clients_own_kind_of_id_is_answered_under_it() -> None:
    for ident in ('"3"', "3", "3.0", "true", "null", '"goalproxy-t-1"'):
        neutral().run(f"""
            client >> control {ident} clear
            agent  << request $1 _session/goal {{"action": "clear"}}
            agent  >> result $1 {{}}
            client << result {ident} {{}}
        """)


def test_a_round_is_shown_when_it_begins() -> None:
    at_work().run(f"""
        agent  >> {mark("active")}
        client << same
        client << goal {{"iterations": 1}}
        agent  >> {mark("active")}
        client << same
        agent  >> {mark("idle")}
        client << same
        agent  >> {mark("active")}
        client << same
        client << goal {{"iterations": 2}}
    """)


def test_a_late_confirmation_of_a_set_does_not_answer_the_pause_after_it() -> None:
    codex("2.6.0").run(f"""
        client >> control 3 set Ship it
        agent  << request $1 _session/goal {{"action": "set", "objective": "Ship it"}}
        timers
        client << goal {{"status": "active"}}
        client << result 3 {{}}
        client >> control 4 pause
        agent  << request $2 _session/goal {{"action": "pause"}}
        agent  >> {ACTIVE}
        agent  >> {PAUSED}
        client << goal {{"status": "paused"}}
        client << result 4 {{}}
    """)


@pytest.mark.parametrize("answered", [True, False])
def test_a_set_that_is_overtaken_leaves_nothing_behind(*, answered: bool) -> None:
    confirmation = "agent >> result $1 {}" if answered else "# nothing"
    codex("2.6.0").run(f"""
        client >> control 3 set A
        agent  << request $1 _session/goal {{"action": "set", "objective": "A"}}
        timers
        client << goal {{"objective": "A"}}
        client << result 3 {{}}
        client >> control 4 set B
        agent  << request $2 _session/goal {{"action": "set", "objective": "B"}}
        {confirmation}
        agent  >> {snapshot("air", objective="A", status="active")}
        timers
        client << goal {{"objective": "B"}}
        client << result 4 {{}}
    """)


def test_clearing_twice_by_prompts_is_no_refusal() -> None:
    codex("1.1.0").run("""
        client >> control 3 clear
        agent  << request $1 session/prompt {"prompt": [{"type": "text", "text": "/goal clear"}]}
        agent  >> result $1 {"stopReason": "end_turn"}
        client << result 3 {}
    """)


@pytest.mark.parametrize(
    ("capability", "words"),
    [(', "actions": ["clear"]', "The action must be one of clear."), ("", "No action is offered for this agent.")],
)
def test_an_unknown_action_is_refused_with_those_that_are_offered(capability: str, words: str) -> None:
    control = f'{{"version": 1, "controlMethod": "_session/goal"{capability}}}'
    play = Play()
    play.feed("client", 'request 1 initialize {"protocolVersion": 1}')
    play.feed("agent", f'result 1 {{"protocolVersion": 1, "_meta": {{"goal": {control}}}}}')
    play.run(f"""
        client >> request 2 _session/goal {{"action": "edit"}}
        client << error 2 -32602 {words}
    """)
