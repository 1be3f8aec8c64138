"""The version of goalproxy. The package's metadata has it from here, and is not asked for it: that would take long."""

VERSION = "0.1.0"
