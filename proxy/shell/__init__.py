"""Everything that touches the world: processes, pipes, signals, threads, timers, sockets, files.

Decides nothing about goals. Only ``cli`` imports it.
"""
