"""What an order to an agent looks like: forms by kind, in English and abroad, in words and in signs."""
