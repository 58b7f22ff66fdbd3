"""Which overload a call means, and what converts its arguments."""
