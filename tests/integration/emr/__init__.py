"""Tests of the images and their programs, without a container engine where possible."""
