"""How often each two of some sources say the same, and make the same mistakes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from veracity.encoding.block import Block, BoolArray, FloatArray, IntArray
from veracity.encoding.partitions import Encoded


class Met(NamedTuple):
    """For each two sources: items both speak of, items of which both say the same.

    Of a shared item, one or both may say what is mistaken: `mistakes` counts these,
    `same_mistakes` those of which both say the same.
    """

    shared: FloatArray
    same: FloatArray
    mistakes: FloatArray
    same_mistakes: FloatArray


class _Answers(NamedTuple):
    """What sources say of items: one answer each, the same number for the same answer."""

    source: IntArray
    item: IntArray
    answer: IntArray
    is_mistake: BoolArray


def meetings(encoded: Encoded, is_mistake: BoolArray, chosen: IntArray) -> Met:
    """What each two of the chosen sources say of the same items, given which facts are mistaken.

    A source that names several values of an item gives one answer: all of them.
    """
    slot = np.full(encoded.names.n_sources, -1, dtype=np.int64)
    slot[chosen] = np.arange(len(chosen))
    total = np.zeros((4, len(chosen), len(chosen)))
    for block, own in zip(encoded.blocks, encoded.by_block(is_mistake), strict=True):
        is_binary = encoded.kind == "binary"
        answers = _denied(block, own) if is_binary else _answers(block, own)
        total += _meet(answers, slot, len(chosen))
    return Met(*total)


def _answers(block: Block, is_mistake: BoolArray) -> _Answers:
    fact = block.fact_of_support
    item, source = block.item_of_fact[fact], block.source_of_support.astype(np.int64)
    if len(block.source_of_voice) == len(source):  # nobody names two values
        return _Answers(source, item, fact, is_mistake[fact])
    order = np.lexsort((fact, source, item))
    fact, item, source = fact[order], item[order], source[order]
    is_first = np.append(True, (np.diff(item) != 0) | (np.diff(source) != 0))
    first = np.flatnonzero(is_first)
    mixed = (fact.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    _, answer = np.unique(np.add.reduceat(mixed, first), return_inverse=True)
    mistaken = np.logical_or.reduceat(is_mistake[fact], first)
    return _Answers(source[first], item[first], answer, mistaken)


def _denied(block: Block, is_mistake: BoolArray) -> _Answers:
    """Who speaks of a binary fact without supporting it denies it."""
    item, says_so = block.item_of_voice, block.affirms
    source = block.source_of_voice.astype(np.int64)
    return _Answers(source, item, 2 * item + says_so, says_so == is_mistake[item])


def _meet(answers: _Answers, slot: IntArray, n_slots: int) -> FloatArray:
    from scipy.sparse import csr_array  # noqa: PLC0415 - loaded on first use

    row = slot[answers.source]
    is_chosen = row >= 0
    is_wrong = is_chosen & answers.is_mistake

    def table(column: IntArray, meant: BoolArray) -> Any:
        """One row per source, 1 in the columns it meets."""
        shape = (n_slots, int(column.max()) + 1)
        return csr_array((np.ones(meant.sum()), (row[meant], column[meant])), shape=shape)

    speaks, wrong = table(answers.item, is_chosen), table(answers.item, is_wrong)
    says, says_wrong = table(answers.answer, is_chosen), table(answers.answer, is_wrong)
    either = (wrong @ speaks.T).toarray()
    mistakes = either + either.T - (wrong @ wrong.T).toarray()
    return np.stack(
        [
            (speaks @ speaks.T).toarray(),
            (says @ says.T).toarray(),
            mistakes,
            (says_wrong @ says_wrong.T).toarray(),
        ]
    )
