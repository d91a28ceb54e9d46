"""Describe claims and answers: profiles, warnings, evaluations, comparisons."""
