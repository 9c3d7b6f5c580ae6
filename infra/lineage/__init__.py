"""OpenLineage events: which step read what and wrote what. Nothing here is imported without the setting lineage_url."""
