"""The sidecar, and a map of its nouns.

A **client** (an editor) talks ACP to an **agent**; the proxy stands between. Both are **peers**.
A **line** is one message, or something that is none. It is **relayed** as the same bytes, **rewritten** or
**swallowed**; a line of the proxy's own is **injected**.

wire     Lines, envelopes, exact edits, the names of ACP and of the goal extension.
goal     What a goal is: **status**, **report** (what an agent says), **snapshot** (what a client sees), **control** and
         **command** (what a client asks), and the **tracker** that keeps them in order for one session.
core     The **engine**: an **event** comes in, **actions** come out. **Sessions**, **turns**, pending controls.
shell    Threads, pipes, processes, signals, timers; the **registry** where sidecars leave their numbers, the
         **exporter** that reads them, the **operator** who asks a sidecar. Decides nothing.

Beside this room: **mappers** know the dialects of agents, **metrics** turn **facts** into numbers.

Arrows: wire imports nothing of ours; goal imports wire; mappers import wire and goal; core imports wire, goal and
mappers.base; metrics import core.facts and goal.changes; shell imports all; only cli and options import shell.
"""
