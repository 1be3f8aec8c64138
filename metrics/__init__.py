"""Prometheus metrics, told from facts alone.

``catalogue`` says what there is, ``observer`` turns facts into values, ``traffic`` reads the counts of the relay path.
"""
