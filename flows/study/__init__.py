"""The study: both modes measured on fresh instances, question by question, and kept as rows."""
