"""``goalproxy doctor``: what an agent is and what its goals will look like, for a person and for a script."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from goalproxy.proxy.errors import Failure
from goalproxy.proxy.settings import Settings
from goalproxy.proxy.shell import doctor
from goalproxy.proxy.shell.process import AgentProcess

from .conftest import Run
from .rig import now, python, scripted, shell

_CODEX = {"name": "@agentclientprotocol/codex-acp", "version": "2.6.0"}


def _introduced(**keys: Any) -> list[str]:
    """The command of an agent with these keys in its introduction."""
    return scripted("goals", json.dumps(keys).replace("codex", r"cod\u0065x"))  # not to be told by the command line


def _examined(run: Run, agent: list[str], *options: str) -> tuple[int, dict[str, Any]]:
    ended = run(["doctor", "--json", *options, "--", *agent])
    assert ended.stderr == b""
    report = json.loads(ended.stdout)
    assert isinstance(report, dict)
    return ended.returncode, report


def test_an_agent_whose_goals_work_is_reported_as_such(run: Run) -> None:
    code, report = _examined(run, scripted("goals"))
    assert code == 0
    assert report == {
        "command": scripted("goals"),
        "agent": "@acme/robo",
        "version": "3.2.1",
        "protocol": 1,
        "dialect": "neutral",
        "why": "the agent advertises _meta.goal",
        "owner": "native",
        "actions": ["set", "pause", "resume", "clear"],
        "slash_command": "yes, by goalproxy unless the agent lists it",
        "declared_air": False,
        "missing": [],
    }


def test_the_table_says_the_same_to_a_person(run: Run) -> None:
    ended = run(["doctor", "--", *scripted("goals")])
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.decode().splitlines() == [
        "agent               @acme/robo 3.2.1",
        "protocol            ACP version 1",
        "goals read as       neutral, because the agent advertises _meta.goal",
        "AIR declared to it  no",
        "goals kept by       the agent",
        "client will see     the goal, by _meta.goal",
        "controls            set, pause, resume, clear",
        "/goal               yes, by goalproxy unless the agent lists it",
    ]


def test_goalproxy_keeps_the_goals_of_an_agent_without_any(run: Run) -> None:
    code, report = _examined(run, _introduced(_meta=None, agentInfo=None))
    assert (code, report["missing"]) == (0, [])
    assert (report["agent"], report["dialect"], report["owner"]) == ("", "none", "emulated")
    assert (report["actions"], report["slash_command"]) == (["set", "pause", "resume", "clear"], "yes, by goalproxy")
    table = run(["doctor", "--", *_introduced(_meta=None, agentInfo=None)]).stdout.decode()
    assert "agent               does not say\n" in table
    assert "goals kept by       goalproxy, which works for them in rounds\n" in table


@pytest.mark.parametrize("goals", ["native", "off"])
def test_goals_that_nobody_keeps_give_1_and_a_remedy(run: Run, goals: str) -> None:
    agent = _introduced(_meta=None, agentInfo=None)
    code, report = _examined(run, agent, "--goals", goals)
    assert (code, report["owner"], report["actions"], report["slash_command"]) == (1, None, [], "no")
    [(what, remedy)] = report["missing"]
    assert what.startswith("goals:")
    assert remedy == f"they are set to {goals}; --goals auto lets goalproxy keep them"
    ended = run(["doctor", "--goals", goals, "--", *agent])
    assert ended.returncode == 1
    assert f"missing             {what}: {remedy}\n" in ended.stdout.decode()


def test_an_agent_that_lacks_some_controls_gives_1_and_names_them(run: Run) -> None:
    goal = {"version": 1, "controlMethod": "_session/goal", "actions": ["pause", "clear"]}
    code, report = _examined(run, _introduced(_meta={"goal": goal}))
    assert code == 1
    assert report["actions"] == ["pause", "clear"]
    assert report["missing"][0][0] == "the controls set, resume"


def test_an_agent_that_no_update_will_teach_a_control_is_said_to_have_none(run: Run) -> None:
    info = {"name": "deepseek-harness-acp", "version": "0.0.1"}
    agent = _introduced(_meta=None, agentInfo=info, agentCapabilities={"sessionCapabilities": {}})
    _, report = _examined(run, agent)
    [(what, remedy)] = report["missing"]
    assert what == "the controls set, pause, resume, clear"
    assert remedy == "DSH offers no control of goals over ACP; ask its model in a prompt."


def test_an_agent_that_hides_its_kind_gives_1_until_it_is_told(run: Run) -> None:
    code, report = _examined(run, _introduced(agentInfo=_CODEX, _meta={}))
    assert (code, report["declared_air"], report["dialect"]) == (1, False, "AIR")
    assert report["missing"][0][1] == "add --agent-kind codex"
    code, report = _examined(run, _introduced(agentInfo=_CODEX, _meta={}), "--agent-kind", "codex")
    assert (code, report["declared_air"], report["missing"]) == (0, True, [])


def test_settings_from_the_environment_and_a_file_count_for_the_doctor_too(run: Run, env: dict[str, str]) -> None:
    env["GOALPROXY_AGENT_KIND"] = "codex"
    assert _examined(run, _introduced(agentInfo=_CODEX, _meta={}))[0] == 0


def test_what_the_agent_says_before_its_answer_is_skipped_and_its_stderr_is_shown(run: Run) -> None:
    noisy = 'echo "no JSON"; echo; echo \'{"method":"a"}\'; echo \'[]\'; echo "a warning" >&2; exec "$@"'
    ended = run(["doctor", "--json", "--", *shell(noisy, *scripted("goals"))])
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["agent"] == "@acme/robo"
    assert ended.stderr == b"a warning\n"


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (shell("read line"), "ended without an answer"),
        (shell("while read line; do :; done"), "no answer to initialize in time"),
        (["yes"], "no answer to initialize in time"),
        (shell("trap '' TERM; while :; do read line || sleep 1000; done"), "no answer to initialize in time"),
        (
            python(
                """
                import json
                ident = json.loads(input())["id"]
                print(json.dumps({"id": ident, "error": {"code": -32000, "message": "log in first"}}), flush=True)
                input()
                """
            ),
            "log in first",
        ),
        (
            python('import json; print(json.dumps({"id": json.loads(input())["id"], "result": 5}), flush=True)'),
            "no result",
        ),
    ],
    ids=["ends", "is silent", "babbles", "ignores SIGTERM", "answers with an error", "answers with nonsense"],
)
def test_an_agent_that_gives_no_answer_gives_3_in_time(run: Run, agent: list[str], reason: str) -> None:
    began = now()
    ended = run(["doctor", "--timeout", "0.3", "--", *agent])
    assert now() - began < 10
    assert ended.returncode == 3
    lines = ended.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("goalproxy: the agent ")
    assert reason in lines[0]
    assert ended.stdout == b""


def test_the_doctor_waits_no_longer_for_the_agents_end_than_that_takes() -> None:
    process = AgentProcess(["cat"])
    began = now()
    process.end_group()
    took = now() - began
    process.wait()
    os.close(process.stdin)
    os.close(process.stdout)
    assert took < 1.5, "cat ends at once on SIGTERM; the pause before SIGKILL is two seconds"


def test_an_agent_that_has_ended_before_it_is_spoken_to_gave_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(AgentProcess):
        """An agent that has ended when its start returns."""

        def __init__(self, command: list[str]) -> None:
            super().__init__(command)
            self.wait()

    monkeypatch.setattr(doctor, "AgentProcess", Ended)
    with pytest.raises(Failure) as failed:
        doctor.examine(["true"], Settings(), 5)
    assert failed.value.exit_code == 3


def test_nothing_of_the_agent_is_left(run: Run) -> None:
    # The pipe that the child holds is the one that ``run`` reads to its end.
    ended = run(["doctor", "--json", "--", *shell('sleep 1000 & exec "$@"', *scripted("goals"))])
    assert ended.returncode == 0


def test_wrong_usage_gives_2(run: Run) -> None:
    assert run(["doctor", "--timeout", "0", "--", "cat"]).returncode == 2
    assert run(["doctor", "--agent-kind", "robot", "--", "cat"]).returncode == 2
    assert run(["doctor"]).returncode == 2
