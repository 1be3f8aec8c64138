"""What crosses the wire, without I/O and without state: lines, envelopes, exact edits, and the names of ACP.

Imports nothing else of goalproxy.
"""
