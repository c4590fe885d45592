"""What vendors' interfaces have in common: one request, read from each of them."""
