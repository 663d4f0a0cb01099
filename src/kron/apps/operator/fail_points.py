"""Fail points of the operator: `KRON_FAILPOINT` kills or stops it at them, as at those of the engine."""

from __future__ import annotations

OPERATOR_POINTS = {
    "K13": "Job created, its answer not read",
    "K14": "end of a Job seen, not recorded",
    "K15": "end of a Job recorded, old Job not deleted",
    "K16": "status of a KronJob computed, not written",
    "K17": "Job found for a claim or for a lost record, not recorded",
}
