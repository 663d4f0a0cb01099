"""An issuer of tokens for tests: three kinds of keys, and every way to forge a token that we know of."""

import base64
import json
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from kron.apps.service.auth.caller import SCOPES

ISSUER, AUDIENCE = "https://issuer.example", "kron"
KEYS = {
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "RS256": rsa.generate_private_key(65537, 2048),
}
STRANGERS = {
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "RS256": rsa.generate_private_key(65537, 2048),
}
ALL = " ".join(SCOPES)
_MAKERS = {
    "EdDSA": jwt.algorithms.OKPAlgorithm,
    "ES256": jwt.algorithms.ECAlgorithm,
    "RS256": jwt.algorithms.RSAAlgorithm,
}


def public(name, key):
    return {**json.loads(_MAKERS[name].to_jwk(key.public_key())), "kid": f"k-{name}", "use": "sig"}


def pem(key):
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def jwks(folder, names=tuple(KEYS)):
    path = Path(folder) / "jwks.json"
    path.write_text(json.dumps({"keys": [public(name, KEYS[name]) for name in names]}))
    return str(path)


def settings(folder, **more):
    defaults = {"auth": "jwt", "jwks": jwks(folder), "issuer": ISSUER, "audience": AUDIENCE, "tenant_claim": "tenant"}
    return {**defaults, **more}


def claims(tenant="acme", scope=ALL, **more):
    now = int(time.time())
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "svc@acme", "iat": now, "exp": now + 600, "jti": "t-1"}
    said |= {"scope": scope, "tenant": tenant, **more}
    return {name: value for name, value in said.items() if value is not ...}


def token(tenant="acme", algorithm="EdDSA", header=None, key=None, **more):
    said = {"kid": f"k-{algorithm}", **(header or {})}
    return jwt.encode(claims(tenant, **more), key or KEYS[algorithm], algorithm, said)


def raw(header, body, signature=b"x"):
    """A token as one writes it by hand."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, body)]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in [*parts, signature])


def resigned(header, body, algorithm="EdDSA"):
    """A token of exactly these bytes, signed by the issuer."""
    text = raw(header, body, b"").rstrip(".")
    made = jwt.get_algorithm_by_name(algorithm)
    signature = made.sign(text.encode(), KEYS[algorithm])
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def forged():
    """Tokens that all must be refused, by what is wrong with them."""
    now, good = int(time.time()), token()
    head, body, signature = good.split(".")
    known = {"alg": "EdDSA", "typ": "JWT", "kid": "k-EdDSA"}
    found = {
        "empty": "",
        "a word": "abc",
        "two parts": f"{head}.{body}",
        "four parts": f"{good}.x",
        "no signature": f"{head}.{body}.",
        "a space": f"{head}.{body}. {signature}",
        "a line feed": f"{head}.{body}\x0b.{signature}",
        "another signature": f"{head}.{body}.{token(sub='other').split('.')[2]}",
        "another body": f"{head}.{token('beta').split('.')[1]}.{signature}",
        "too long": good + "A" * 9000,
        "a megabyte": "A" * 60_000,
        "an unknown kid": token(header={"kid": "k-unknown"}),
        "no kid": jwt.encode(claims(), KEYS["EdDSA"], "EdDSA"),
        "a kid that is a path": token(header={"kid": "../../../../dev/null"}),
        "a kid that is SQL": token(header={"kid": "' OR 1=1 --"}),
        "a kid that is a URL": token(header={"kid": "https://attacker.example/jwks"}),
        "a kid that is a number": raw({**known, "kid": 1}, claims()),
        "a kid that is a list": raw({**known, "kid": ["k-EdDSA"]}, claims()),
        "a critical extension": token(header={"crit": ["exp"]}),
        "another type": token(header={"typ": "logout+jwt"}),
        "an encrypted type": token(header={"typ": "JWE"}),
        "over": token(exp=now - 60, iat=now - 600),
        "not yet": token(nbf=now + 3000, exp=now + 3500),
        "from the future": token(iat=now + 3000, exp=now + 3500),
        "lives for ever": token(exp=now + 10**9),
        "lives too long": token(exp=now + 7200),
        "no end": token(exp=...),
        "no beginning": token(iat=...),
        "an end that is a text": resigned(known, claims(exp=str(now + 600))),
        "an end that is a float": resigned(known, claims(exp=now + 600.5)),
        "an end that is huge": resigned(known, claims(exp=1e308)),
        "an end that is true": resigned(known, claims(exp=True)),
        "an end that is null": resigned(known, claims(exp=None)),
        "an end that is negative": resigned(known, claims(exp=-1)),
        "another issuer": token(iss="https://attacker.example"),
        "an issuer with more": token(iss=ISSUER + "/"),
        "no issuer": token(iss=...),
        "an issuer list": resigned(known, claims(iss=[ISSUER])),
        "another audience": token(aud="other"),
        "a list of other audiences": token(aud=["other", "kron2"]),
        "an audience inside another list": token(aud=[[AUDIENCE]]),
        "no audience": token(aud=...),
        "an empty audience": token(aud=[]),
        "nobody": token(sub=...),
        "an empty name": token(sub=""),
        "a name with a line feed": token(sub="a\nb"),
        "a name that is a number": resigned(known, claims(sub=7)),
        "no tenant": token(tenant=...),
        "an empty tenant": token(tenant=""),
        "a tenant with a slash": token(tenant="acme/x"),
        "a tenant that climbs": token(tenant="../acme"),
        "a tenant list": token(tenant=["acme"]),
        "a tenant with a wild card": token(tenant="*"),
        "a tenant with a line feed": token(tenant="acme\n"),
        "a name twice": resigned(known, json.dumps(claims()).encode()[:-1] + b', "tenant": "beta"}'),
        "no object": resigned(known, b"[]"),
        "no JSON": resigned(known, b"{"),
        "nested": resigned(known, b"[" * 4000),
        "scopes that are a number": token(scope=7),
        "its own key": jwt.encode(
            claims(), STRANGERS["EdDSA"], "EdDSA", {"kid": "k-EdDSA", "jwk": public("EdDSA", STRANGERS["EdDSA"])}
        ),
        "keys elsewhere": jwt.encode(
            claims(), STRANGERS["RS256"], "RS256", {"kid": "k-RS256", "jku": "http://127.0.0.1:9/jwks"}
        ),
        "a certificate elsewhere": jwt.encode(
            claims(), STRANGERS["RS256"], "RS256", {"kid": "k-RS256", "x5u": "http://127.0.0.1:9/cert"}
        ),
        "the algorithm of another key": jwt.encode(claims(), KEYS["ES256"], "ES256", {"kid": "k-EdDSA"}),
        "a stronger sister": jwt.encode(claims(), KEYS["RS256"], "RS512", {"kid": "k-RS256"}),
        "a padding that is not taken": jwt.encode(claims(), KEYS["RS256"], "PS256", {"kid": "k-RS256"}),
    }
    for name in ("none", "None", "NONE", "nOnE", "", "hs256"):
        found[f"the algorithm {name!r}"] = raw({**known, "alg": name}, claims(), b"")
        found[f"the algorithm {name!r} with a signature"] = raw({**known, "alg": name}, claims())
    for name, stranger in STRANGERS.items():
        found[f"a stranger's {name}"] = token(algorithm=name, key=stranger)
    for name in KEYS:
        for size in (256, 384, 512):
            found[f"the public key of {name} as the secret of HS{size}"] = secret_of(pem(KEYS[name]), name, size)
        jwk = json.dumps(public(name, KEYS[name])).encode()
        found[f"the JWK of {name} as a secret"] = secret_of(jwk, name, 256)
    return found


def secret_of(secret, name, size):
    """A token signed with what everyone knows, as if it were a secret."""
    import hashlib
    import hmac

    text = raw({"alg": f"HS{size}", "typ": "JWT", "kid": f"k-{name}"}, claims(), b"").rstrip(".")
    made = hmac.digest(secret, text.encode(), getattr(hashlib, f"sha{size}"))
    return f"{text}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"
