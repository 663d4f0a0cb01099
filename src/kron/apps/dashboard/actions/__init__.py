"""Actions of operators: each has a page that shows its effect, and a form that carries it out."""
