"""What a round counts as work: tool calls, however an agent tells of them, and not those of the proxy's own tools."""

from goalproxy.proxy.core.round import Round


def test_each_call_counts_once_whenever_it_is_told_of() -> None:
    """Gemini tells of some calls only when they are done; others tell of one call again and again."""
    current = Round("goal-1", 0)
    current.called("a", "pending", counts=True)
    current.called("a", "pending", counts=True)
    current.called("b", "completed", counts=True)
    assert current.tools == 2


def test_a_call_of_the_proxys_tools_is_no_work_though_later_news_of_it_lacks_the_name() -> None:
    """The first news of a call has its name."""
    current = Round("goal-1", 0)
    current.called("a", "pending", counts=False)
    current.called("a", "pending", counts=True)
    current.called(None, None, counts=True)
    assert current.tools == 0


def test_a_call_is_open_until_the_agent_says_that_it_has_ended() -> None:
    current = Round("goal-1", 0)
    for call, status in [("a", "pending"), ("a", "in_progress"), ("b", None), ("c", "in_progress"), ("c", None)]:
        current.called(call, status, counts=True)
    assert current.open_calls == {"a", "b", "c"}
    for call, status in [("a", "completed"), ("a", "in_progress"), ("b", "failed"), ("d", "completed")]:
        current.called(call, status, counts=True)
    assert current.open_calls == {"c"}
