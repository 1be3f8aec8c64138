"""Prometheus metrics, told from facts alone.

``catalogue`` says what there is, ``observer`` turns facts into values, ``series`` keeps the values where others can
read them, ``fleet`` adds up many sidecars, ``exposition`` shows values to Prometheus, ``page`` writes the docs.
"""
