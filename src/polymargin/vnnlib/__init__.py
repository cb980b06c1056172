"""VNN-LIB queries: read, write, answer."""

from polymargin.vnnlib.answering import QueryAnswer, Result, answer_query
from polymargin.vnnlib.query import Query, read_query
from polymargin.vnnlib.writing import write_robustness_query

__all__ = ["Query", "QueryAnswer", "Result", "answer_query", "read_query", "write_robustness_query"]
