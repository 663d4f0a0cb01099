"""Bodies of a Kubernetes API: refusals, and merged objects."""


def status_of(code, reason, *causes):
    details = {"causes": [{"reason": cause} for cause in causes]}
    return {"kind": "Status", "code": code, "reason": reason, "message": reason.lower(), "details": details}


def merge(old, patch):
    for name, value in patch.items():
        if value is None:
            old.pop(name, None)
        elif isinstance(value, dict) and isinstance(old.get(name), dict):
            merge(old[name], value)
        else:
            old[name] = value
