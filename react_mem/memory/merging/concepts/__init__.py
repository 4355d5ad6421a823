"""Concepts: who and what a user's facts are about, under one name each whatever they are called.

They follow the facts in the same batch; what names alone do not tell, a background run settles.
"""
