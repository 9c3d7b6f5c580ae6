"""Files of topics, views and routes: loaded, and their SQL checked."""
