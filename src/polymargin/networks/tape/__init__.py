"""The tape: tensors of polynomials, the operations on them, and how they fold into layers."""
