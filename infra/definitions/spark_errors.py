"""The errors of Spark, and their messages, short enough for a list of mistakes."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from infra.library_errors import first_line

# Spark gives its own errors a class in Python; those of Java in a task, such as "long overflow", it does not.
SPARK_ERRORS = (PySparkException, Py4JJavaError)
_TASK = re.compile(r".* executor \S+\): ")  # what a failed job says before the error of its task


def short_message(error: Exception) -> str:
    """The first line of an error, without plan, stack, task or SQLSTATE."""
    text = str(getattr(error, "desc", None) or getattr(error, "java_exception", None) or error)
    return _TASK.sub("", first_line(re.sub(r" ?SQLSTATE: \w+.*", "", text)))
