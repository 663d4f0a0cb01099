"""Figures of the Kubernetes operator next to the CronJob controller on one API server: `make bench-kube`."""
