"""Numbers of the paper's figures and tables, to be shown next to ours.

Broelemann, Gottron, Kasneci: Restricted Boltzmann Machines for Robust and Fast Latent Truth
Discovery. The files were read off the figures' source, to the digit.
"""

from __future__ import annotations

from importlib.resources import files

import polars as pl

OUR_NAME = {
    "MajorityVoting": "majority-vote",
    "LTD-RBM": "ltd-rbm-cd",
    "LTD-RBM-C": "ltd-rbm-c-cd",
    "MLE": "mle",
    "LTM": "ltm",
    "2-Estimates": "two-estimates",
}
"""Our names of the paper's algorithms; it trains LTD-RBM by contrastive divergence."""


def paper_table(name: str) -> pl.DataFrame:
    """Return one of the paper's tables, with our names for the algorithms.

    >>> paper_table("dataset_characteristics")["claims"].to_list()
    [2849984, 2844030, 307335, 306034]
    """
    content = (files("veracity.study") / "paper" / f"{name}.csv").read_bytes()
    table = pl.read_csv(content)
    if "algorithm" not in table.columns:
        return table
    return table.with_columns(pl.col("algorithm").replace_strict(OUR_NAME))
