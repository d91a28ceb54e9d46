"""The battery: hostile inputs, tampered runs and interruptions, and a judge of what came of them.

``make attack`` runs it for minutes or hours; ``tests/test_attack.py`` a small part of it, always
the same. `cases` draws what is tried, `kills` stops commands at work, `workshop` runs commands,
`verdict` says what is wrong with what they did, and `findings` keeps one small case of each wrong.
"""
