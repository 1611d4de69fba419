"""Pure text: what must not be written down or read by a model: secrets, personal data, orders, what hides."""
