"""LTD-RBM for numbers: the machine's units learned, and items judged by them."""

from veracity.algorithms.ltd_rbm_n.algorithm import NumericLTDRBM, Training

__all__ = ["NumericLTDRBM", "Training"]
