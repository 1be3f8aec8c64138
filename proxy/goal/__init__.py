"""What a goal is, whoever owns it: statuses, commands, controls, snapshots, and the book of one session's goal.

Pure: no I/O, no clock, no session of anybody else. Imports of goalproxy only the names of the extension.
"""
