"""One file per topic, view and route. Each file defines TOPIC, VIEW or ROUTE; adding one changes no other file."""
