"""`lk init`: a topic file and a view file from a sample of records. Nothing of the sample is ever evaluated.

The order of the work: sample_file → field_guesses (with field_names, value_types, time_formats and odd_values) →
guesses (with event_time_guess and unsure_notes) → topic_file and view_file (with example_table and definition_text) →
write_files.
"""
