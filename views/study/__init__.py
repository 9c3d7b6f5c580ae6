"""Views of the study that compares the two modes; `lk study` uses them beside some of views/programs."""
