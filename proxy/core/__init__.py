"""Every decision of the proxy, without I/O, clock, thread or task: events in, actions out.

Knows mappers by their base only; which there are is passed in.
"""
