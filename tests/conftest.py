"""Properties are tried with the same examples in every run, however busy the machine.

``pytest --hypothesis-profile=wide`` looks for new ones.
"""

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("wide", max_examples=2000, deadline=None)
settings.load_profile("same")
