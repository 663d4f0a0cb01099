"""Engine: the worker, the registrar, and what they need."""
