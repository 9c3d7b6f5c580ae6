"""One file per topic and per view. Each file defines TOPIC or VIEW; nothing else is touched to add one."""
