"""Programs of products: networks whose values are products and activations of affine forms of earlier values."""
