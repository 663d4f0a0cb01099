"""Schedule -> Period -> Decision. Pure: no clock, no dice, no I/O."""
