"""Evidence about the two modes: what is asked, what was measured, what follows from it."""
