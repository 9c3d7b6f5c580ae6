"""The questions that an architect asks about the two modes. The study answers them, the report shows the answers."""

from __future__ import annotations

from core.evidence.cost_questions import COST_QUESTIONS
from core.evidence.service_questions import SERVICE_QUESTIONS

QUESTIONS = (*SERVICE_QUESTIONS, *COST_QUESTIONS)
BY_ID = {question.id: question for question in QUESTIONS}
