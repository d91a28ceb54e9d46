"""What claims and answers are like: profiles, warnings, evaluations, comparisons."""
