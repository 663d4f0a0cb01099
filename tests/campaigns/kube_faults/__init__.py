"""Faults on a real Kubernetes cluster: the operator under kills, lost stores, cut lines, wrong clocks and edits."""
