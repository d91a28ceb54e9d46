"""The loops over claims: `reference` defines them in NumPy, `compiled` runs them with Numba.

Both modules offer the same names with the same arguments; a test runs both on the same data.
"""
