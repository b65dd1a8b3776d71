"""The Atlas: a small encyclopaedia of real facts whose retrieval failures are certified.

`python -m tools.atlas` rebuilds data/atlas/*.jsonl from data/atlas/facts/*.csv with one seed.
facts -> prose -> questions -> certify -> select -> report, one module each.
"""
