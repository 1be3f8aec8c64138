"""``python -m goalproxy.proxy`` is ``goalproxy``."""

from .cli import main

if __name__ == "__main__":
    main()
