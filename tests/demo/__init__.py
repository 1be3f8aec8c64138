"""``make demo``: a goal at work in a few seconds, with a scripted agent in the place of a real one."""
