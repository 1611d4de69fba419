"""One of each that Carrel can be extended by; the layout `acme-desk` is the file beside this one."""
