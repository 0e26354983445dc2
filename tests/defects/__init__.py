"""Defects planted in the product, to see whether the tests find them."""
