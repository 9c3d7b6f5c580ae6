"""`lk init`: a topic file and a view file from a sample of records. Nothing of the sample is ever evaluated.

The order of the work: sample_file → field_guesses (with time_formats and field_names) → guesses → example_rows →
definition_text → write_files.
"""
