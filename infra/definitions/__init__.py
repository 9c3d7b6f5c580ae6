"""Loads the files of topics, views and routes, and checks their SQL."""
