"""Whatever a user hands over, opened: here or on Spark, alone or in the manner of a kept fit."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import replace
from reprlib import repr as short
from typing import TYPE_CHECKING, TypeGuard

from veracity.engines import Engine, Local
from veracity.errors import ParameterError
from veracity.fit.fitted import Fitted
from veracity.io.databases import is_database
from veracity.io.frames import is_spark_frame
from veracity.io.json_file import JSON_SUFFIXES
from veracity.io.paths import OTHER_SUFFIXES, STANDARD_INPUT
from veracity.reading.claims import Claims, open_claims, open_claims_like
from veracity.reading.options import ReadOptions
from veracity.reading.spark import SparkClaims, open_on_spark

if TYPE_CHECKING:
    from veracity.engines.spark import Spark

SPARK = "veracity.engines.spark"
"""What nobody needs to load who does not use it."""

AnyClaims = Claims | SparkClaims
"""Claims that were found, to be read when they are encoded."""


def opened(
    claims: object, options: ReadOptions, engine: Engine, like: Fitted | None = None
) -> AnyClaims:
    """The claims in what `veracity.discover` takes, for an engine to read.

    Those that a kept fit is to judge are read as it read others: of its kind, by the names of
    columns it knows if they are there, with values normalised and spelt like its own.
    """
    if isinstance(claims, AnyClaims):
        return claims
    if like is not None:
        options = replace(options, kind=like.kind, likely=like.columns, normalise=False)
    if _is_for_spark(claims, engine):
        return _on_spark(claims, options, engine, like)
    memory = getattr(engine, "allowed", None)
    if like is None:
        return open_claims(claims, options, memory=memory)
    return open_claims_like(
        claims, options, normalisation=like.normalisation, like=like.values, memory=memory
    )


def _on_spark(
    claims: object, options: ReadOptions, engine: Engine, like: Fitted | None
) -> SparkClaims:
    """Claims that Spark is to read; to normalise, their different values come here."""
    assert is_spark(engine)
    session = None if is_spark_frame(claims) else engine.started()
    found = open_on_spark(claims, session, options)
    if like is not None and like.normalisation is not None:
        return found.normalised_as(like.normalisation, like.values)
    return found if options.normalise is False else found.normalised(options.normalise)


def _is_for_spark(claims: object, engine: Engine) -> bool:
    """Whether Spark reads it; databases and other files are read here, and handed over."""
    if not is_spark(engine) or not isinstance(claims, str | os.PathLike):
        return is_spark_frame(claims)
    path = os.fspath(claims)
    name = path.partition("#")[0].lower()
    is_other = name == STANDARD_INPUT or name.endswith((*JSON_SUFFIXES, *OTHER_SUFFIXES))
    return not is_database(path) and (not is_other or "://" in path)


def is_spark(engine: Engine | None) -> TypeGuard[Spark]:
    """Whether the engine is Spark; if it is, somebody has loaded it."""
    loaded = sys.modules.get(SPARK)
    return loaded is not None and isinstance(engine, loaded.Spark)


def engine_for(claims: object, engine: Engine | None) -> Engine:
    """The engine that was asked for; that of a Spark frame is the frame's own."""
    is_engine = all(hasattr(engine, part) for part in ("encode", "hold"))
    if engine is not None and (not is_engine or isinstance(engine, type)):
        raise ParameterError(
            f"engine must be an engine, such as Local(threads=2), got {short(engine)}"
        )
    if not is_spark_frame(claims):
        return engine or Local()
    if engine is None:
        engine = importlib.import_module(SPARK).Spark()
    if is_spark(engine) and engine.session is None:
        return replace(engine, session=claims.sparkSession)  # type: ignore[attr-defined]
    if not is_spark(engine):
        raise ParameterError(
            "the work on a Spark frame is done where it lives: leave out engine, or give "
            "veracity.Spark(...); to work here, give frame.toPandas() or frame.toArrow()"
        )
    return engine
