"""The book of one session's goal: whatever comes in whatever order, what the client is told makes sense."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import UNSET

from goalproxy.proxy.goal import changes
from goalproxy.proxy.goal.changes import Change, GoalStopped, StatusChanged
from goalproxy.proxy.goal.report import Report
from goalproxy.proxy.goal.status import STATUSES
from goalproxy.proxy.goal.tracker import Tracker

NOW = 1_790_000_000_000


def started(**fields: Any) -> Tracker:
    """A tracker that has seen a goal begin."""
    tracker = Tracker()
    tracker.none_yet()
    tracker.publication(NOW)
    tracker.report(Report("A", "active", **fields), NOW + 1)
    return tracker


def outcomes(found: list[Change]) -> list[str]:
    """How goals stopped."""
    return [change.outcome for change in found if isinstance(change, GoalStopped)]


def published(tracker: Tracker, now: int = NOW + 9) -> dict[str, Any]:
    """The snapshot that is due."""
    goal = tracker.publication(now)
    assert isinstance(goal, dict)
    return goal


def test_nothing_is_said_before_anything_is_known() -> None:
    assert Tracker().publication(NOW) is UNSET


def test_a_late_word_about_the_goal_that_is_replaced_by_the_same_words_does_not_answer_for_the_new_one() -> None:
    tracker = started(reference=("one", 1))
    first = published(tracker, NOW + 1)
    generation = tracker.submit("set", "A")
    tracker.report(Report("A", "active", reference=("one", 1)), NOW + 2)
    assert tracker.is_pending(generation)
    tracker.report(Report("A", "active", reference=("two", 1)), NOW + 3)
    assert not tracker.waits
    assert published(tracker, NOW + 3)["createdAt"] > first["createdAt"]


def test_a_goal_set_in_the_millisecond_of_the_clear_before_it_is_newer() -> None:
    tracker = started(created_at=NOW - 500)
    first = published(tracker, NOW + 1)
    tracker.report(None, NOW + 1)
    assert tracker.publication(NOW + 1) is None
    tracker.report(Report("A", "active", created_at=NOW - 500), NOW + 1)
    second = published(tracker, NOW + 1)
    assert first["updatedAt"] < second["createdAt"] <= second["updatedAt"]


def test_counters_begin_at_zero_although_the_agent_goes_on_counting() -> None:
    tracker = started(created_at=NOW + 5, tokens_used=700, time_used_seconds=70)
    assert published(tracker)["tokensUsed"] == 700
    tracker.report(Report("B", "active", created_at=NOW + 5, tokens_used=800, time_used_seconds=75), NOW + 2)
    assert (published(tracker)["tokensUsed"], tracker.shown and tracker.shown.time_used_seconds) == (0, 0)
    tracker.report(Report("B", "complete", created_at=NOW + 5, tokens_used=850, time_used_seconds=80), NOW + 3)
    assert (published(tracker)["tokensUsed"], tracker.shown and tracker.shown.time_used_seconds) == (50, 5)


def test_a_counter_that_falls_is_not_shown_to_fall() -> None:
    tracker = started(tokens_used=700)
    tracker.report(Report("A", "active", tokens_used=100), NOW + 2)
    assert published(tracker)["tokensUsed"] == 700


def test_usage_is_told_as_differences_and_once() -> None:
    tracker = started(created_at=NOW, tokens_used=100)
    first = tracker.report(Report("A", "active", created_at=NOW, tokens_used=150, time_used_seconds=3), NOW + 2)
    again = tracker.report(Report("A", "active", created_at=NOW, tokens_used=150, time_used_seconds=3), NOW + 3)
    replaced = tracker.report(Report("B", "active", created_at=NOW, tokens_used=160, time_used_seconds=3), NOW + 4)
    assert changes.TokensUsed(50) in first
    assert changes.TimeUsed(3) in first
    assert again == []
    assert changes.TokensUsed(10) in replaced


def test_what_a_restored_goal_used_before_is_shown_and_not_counted() -> None:
    tracker = Tracker()
    found = tracker.report(Report("A", "active", created_at=NOW - 9, tokens_used=700), NOW)
    assert found == [changes.GoalRestored(), StatusChanged(None, "active")]
    assert published(tracker)["tokensUsed"] == 700
    assert tracker.round_started() == [changes.RoundStarted()]
    assert tracker.shown is not None
    assert tracker.shown.iterations is None, "rounds before the restart are not known, so their number is not claimed"


def test_outcomes_are_told_once_for_each_stop() -> None:
    tracker = started()
    assert outcomes(tracker.report(Report("A", "blocked"), NOW)) == ["blocked"]
    assert outcomes(tracker.report(Report("A", "blocked", tokens_used=1), NOW)) == []
    assert outcomes(tracker.report(Report("A", "active"), NOW)) == []
    assert outcomes(tracker.report(Report("A", "complete"), NOW)) == ["complete"]
    assert outcomes(tracker.report(None, NOW)) == []
    assert outcomes(tracker.report(Report("B", "active"), NOW)) == []
    assert outcomes(tracker.report(None, NOW)) == ["cleared"]


def test_a_complete_goal_that_works_again_is_a_new_one() -> None:
    tracker = started()
    tracker.report(Report("A", "complete"), NOW + 2)
    old = published(tracker)
    assert changes.GoalStarted() in tracker.report(Report("A", "active"), NOW + 3)
    assert published(tracker)["createdAt"] > old["createdAt"]


def test_the_fate_of_an_active_goal_at_the_end_is_unknown_and_a_paused_one_has_not_ended() -> None:
    assert outcomes(started().end()) == ["ended_unknown"]
    paused = started()
    paused.report(Report("A", "paused"), NOW + 2)
    assert paused.end() == [StatusChanged("paused", None)]
    assert Tracker().end() == []


def test_a_delayed_end_of_a_replaced_goal_does_not_end_the_new_one() -> None:
    tracker = started(updated_at=NOW + 1)
    tracker.submit("set", "B")
    assert tracker.report(Report("A", "complete", updated_at=NOW + 3), NOW + 3) == [changes.LateReport()]
    tracker.report(Report("B", "active", updated_at=NOW + 4), NOW + 4)
    assert tracker.report(Report("A", "complete", updated_at=NOW + 3), NOW + 5) == [changes.LateReport()]
    assert tracker.shown is not None
    assert (tracker.shown.objective, tracker.shown.status) == ("B", "active")


def test_a_late_word_about_a_cleared_goal_does_not_bring_it_back() -> None:
    tracker = started()
    generation = tracker.submit("clear", "")
    tracker.accepted(generation, NOW + 2)
    assert tracker.report(Report("A", "complete"), NOW + 3) == [changes.LateReport()]
    assert tracker.shown is None


def test_an_old_command_that_fails_late_does_not_undo_a_newer_one() -> None:
    tracker = started()
    old = tracker.submit("set", "B")
    new = tracker.submit("set", "C")
    tracker.expect(old, NOW + 2)
    tracker.refused(old)
    tracker.expect(new, NOW + 3)
    assert tracker.shown is not None
    assert tracker.shown.objective == "C"
    assert tracker.lapsed(old, NOW + 4) == []
    assert tracker.accepted(old, NOW + 4) == []


def test_what_is_expected_is_not_counted_before_it_is_confirmed() -> None:
    tracker = Tracker()
    tracker.none_yet()
    generation = tracker.submit("set", "A")
    tracker.expect(generation, NOW)
    shown = published(tracker)
    found = tracker.accepted(generation, NOW + 1)
    assert found == [changes.GoalStarted(), StatusChanged(None, "active")]
    assert tracker.publication(NOW + 2) is UNSET, "the client was told already"
    tracker.report(Report("A", "active", created_at=NOW - 99, tokens_used=1), NOW + 3)
    assert published(tracker)["createdAt"] == shown["createdAt"]


def test_a_pause_of_an_unknown_goal_that_the_agent_accepts_invents_no_goal() -> None:
    tracker = Tracker()
    assert tracker.accepted(tracker.submit("pause", ""), NOW) == []
    assert tracker.publication(NOW) is UNSET


_counts = st.none() | st.integers(0, 5)
_times = st.none() | st.integers(NOW - 10, NOW + 10)
_reports = st.builds(
    Report,
    objective=st.sampled_from(["A", "B", " A "]),
    status=st.sampled_from(STATUSES),
    created_at=_times,
    updated_at=_times,
    iterations=_counts,
    tokens_used=_counts,
    time_used_seconds=_counts,
)


class Session(RuleBasedStateMachine):
    """Any reports, commands and answers, in any order, at any pace."""

    def __init__(self) -> None:
        super().__init__()
        self.tracker = Tracker()
        self.now = NOW
        self.generations = [0]
        self.last: dict[str, Any] | None = None
        self.time = 0
        self.statuses: list[str | None] = [None]

    def _take(self, found: list[Change]) -> None:
        for change in found:
            if isinstance(change, StatusChanged):
                assert change.before == self.statuses[-1], "every change of status begins where the last one ended"
                self.statuses.append(change.after)

    @rule(report=st.none() | _reports)
    def the_agent_reports(self, report: Report | None) -> None:
        self._take(self.tracker.report(report, self.now))

    @rule(action=st.sampled_from(["set", "pause", "resume", "clear"]), objective=st.sampled_from(["A", "B"]))
    def a_command_is_sent(self, action: Any, objective: str) -> None:
        self.generations.append(self.tracker.submit(action, objective if action == "set" else ""))

    @rule(data=st.data(), what=st.sampled_from(["accepted", "refused", "lapsed", "expect"]))
    def a_command_is_answered(self, data: st.DataObject, what: str) -> None:
        generation = data.draw(st.sampled_from(self.generations))
        if what == "refused":
            self.tracker.refused(generation)
        elif what == "expect":
            self.tracker.expect(generation, self.now)
        else:
            self._take(getattr(self.tracker, what)(generation, self.now))

    @rule()
    def a_round_starts(self) -> None:
        self._take(self.tracker.round_started())

    @rule(milliseconds=st.integers(0, 3))
    def time_passes(self, milliseconds: int) -> None:
        self.now += milliseconds

    @precondition(lambda self: self.last is not None)
    @rule()
    def the_client_forgets(self) -> None:
        self.tracker.forget_publication()

    @invariant()
    def what_is_published_makes_sense(self) -> None:
        goal = self.tracker.publication(self.now)
        if goal is UNSET:
            return
        if goal is not None:
            assert isinstance(goal, dict)
            assert goal["objective"].strip()
            assert goal["status"] in STATUSES
            assert self.time < goal["updatedAt"]
            assert goal["createdAt"] <= goal["updatedAt"]
            if self.last is not None and self.last["createdAt"] == goal["createdAt"]:
                for counter in ("tokensUsed", "timeUsedSeconds"):
                    assert goal.get(counter, 0) >= self.last.get(counter, 0)
            self.time = goal["updatedAt"]
        self.last = goal
        assert self.tracker.publication(self.now) is UNSET, "nothing is published twice"


TestSession = Session.TestCase
TestSession.settings = settings(max_examples=60, stateful_step_count=30)


@given(st.lists(_reports, min_size=2, max_size=2, unique_by=lambda report: report.objective.strip()))
def test_two_goals_of_a_session_never_have_one_identity(reports: list[Report]) -> None:
    tracker = Tracker()
    tracker.report(reports[0], NOW)
    first = published(tracker, NOW)
    tracker.report(None, NOW)
    tracker.publication(NOW)
    if tracker.report(reports[1], NOW) != [changes.LateReport()]:
        assert published(tracker, NOW)["createdAt"] > first["updatedAt"]


def test_a_goal_that_stops_is_told_with_what_is_known_of_it() -> None:
    tracker = started(iterations=1, created_at=NOW + 1)
    (stop,) = (
        change
        for change in tracker.report(Report("A", "complete", iterations=4, tokens_used=900), NOW + 60)
        if isinstance(change, GoalStopped)
    )
    assert stop == GoalStopped("complete", NOW + 1, 4, 900)


def test_the_age_of_a_goal_that_was_there_before_is_told_only_if_the_agent_tells_it() -> None:
    for created_at in (None, NOW - 5000):
        tracker = Tracker()
        tracker.report(Report("A", "active", created_at=created_at), NOW)
        (stop,) = (
            change for change in tracker.report(Report("A", "blocked"), NOW + 1) if isinstance(change, GoalStopped)
        )
        assert stop.created_at == created_at
