"""Concepts: the people, places and things of a user's facts, each under one name.

They are updated in the same batch as the facts; a background run settles names that are ambiguous.
"""
