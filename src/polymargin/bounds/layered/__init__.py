"""Networks in layers, as the bounds on balls take them."""
