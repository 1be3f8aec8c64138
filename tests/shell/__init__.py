"""goalproxy as a user's program: started as a process, between a client, which the test plays, and a scripted agent.

    rig      starts the program, reads and writes its streams, and checks that nothing outlives it
    wire     the messages of a client that tests send again and again
    corpus   lines that a relay is tempted to change
    agents   the scripted agents; those of a few lines stand in the tests

No test sleeps. A test waits for a line, for the end of a stream or for the end of a process, and fails with a sentence
when that is overdue.
"""
