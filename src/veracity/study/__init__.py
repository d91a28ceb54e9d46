"""The paper's evaluation, as studies that anyone can carry out."""

from veracity.study.base import Study
from veracity.study.robustness import RobustnessStudy
from veracity.study.runtime import RuntimeStudy
from veracity.study.sensitivity import SensitivityStudy
from veracity.study.statements import StatementsStudy
from veracity.study.synthetic import SyntheticStudy
from veracity.study.work import carry_out, publish

__all__ = [
    "RobustnessStudy",
    "RuntimeStudy",
    "SensitivityStudy",
    "StatementsStudy",
    "Study",
    "SyntheticStudy",
    "carry_out",
    "publish",
]
