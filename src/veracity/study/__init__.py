"""The paper's evaluation, and what goes beyond it, as studies anyone can carry out."""

from veracity.study.ablation import AblationStudy
from veracity.study.asking import AskingStudy
from veracity.study.base import Study
from veracity.study.intervals import IntervalsStudy
from veracity.study.league import LeagueStudy
from veracity.study.numbers import NumbersStudy
from veracity.study.robustness import RobustnessStudy
from veracity.study.runtime import RuntimeStudy
from veracity.study.sensitivity import SensitivityStudy
from veracity.study.statements import StatementsStudy
from veracity.study.synthetic import SyntheticStudy
from veracity.study.work import carry_out, publish

__all__ = [
    "AblationStudy",
    "AskingStudy",
    "IntervalsStudy",
    "LeagueStudy",
    "NumbersStudy",
    "RobustnessStudy",
    "RuntimeStudy",
    "SensitivityStudy",
    "StatementsStudy",
    "Study",
    "SyntheticStudy",
    "carry_out",
    "publish",
]
