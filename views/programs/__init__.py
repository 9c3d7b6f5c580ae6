"""The stream programs of the literature, one view in one file each; LK_VIEWS=views/programs adds them."""
