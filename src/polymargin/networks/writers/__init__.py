"""Writers: networks as other programs read them."""
