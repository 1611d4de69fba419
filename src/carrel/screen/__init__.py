"""Pure text: what must not be written down or read by a model. Today secrets, later more."""
