"""Relaxation proofs: a functional is positive on a region because it is a definite form plus multipliers times constraints.

region         the box and the ball that a perturbation lies in
expansion      forms and values of the network as rows over ξ = (1, δ, w, y)
enclosures     intervals of all variables and arguments
constraints/   what is ≥ 0 or = 0 on the region, one function per kind
judges         the only rule: functional − Σ multiplier · constraint is definite, or linear and positive
lemmas         better intervals, proved by the rule
tree           splits of the region, and the whole proof
"""
