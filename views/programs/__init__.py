"""Stream programs from the literature, one view per file; LK_VIEWS=views/programs adds them."""
