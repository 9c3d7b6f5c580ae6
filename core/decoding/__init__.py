"""Decoding: Kafka records become typed events, or quarantined records with the rules that they break."""
