"""goalproxy in front of real, unmodified agents, which work for a fake model on this machine.

    behaviours       what is tested, and for which family of agents, as data
    agents           which builds there are and what each of them can do, as data
    node             the Node.js that runs them, and the folder that they are in
    python           the Python that runs those which are written in it; `locks` has what these consist of
    install          fetches the builds with npm or uv, each into its own folder
    traffic          one ordered record of everything that happened, and the only way to wait
    fake_model       the model: scripted turns, held open until the test lets go of them, and scripted verdicts
    fake_openai      its dialect for Codex (Responses)
    fake_chat        its dialect for Qwen, DSH, opencode and Mistral Vibe (Chat Completions)
    fake_anthropic   its dialect for Claude (Messages)
    homes            what each family needs around it to work for such a model
    emulated_homes   what is around the agents without goals, and what is particular about each
    only_stdio       runs an agent that says nothing of MCP over http
    fake_gemini      its dialect for Gemini CLI
    client           an ACP client on stdio that starts the agent, through goalproxy or bare
    invariants       what must hold in every run, whatever the test is about
    scene            one agent, one model and one client, ready to be played by a test
    stage            a scene with an agent without goals, shared by many tests
    checks           what tests assert again and again about replies
    view             what a client sees, to compare a run through the proxy with one without it
    matrix           behaviour against build: which tests run for which build, and the tables in the README

No test sleeps. A test waits for an entry in the traffic, and a turn of the model lasts until the test releases it,
so that "the reply comes while the turn is still running" is a matter of order and not of speed.
"""
