"""Claims: each test that claims a clause fails when the behavior of the clause is removed."""
