"""An OpenID Connect provider in a process of its own: django-oauth-toolkit, with people who have different claims.

`python -m tests.dashboard.openid_provider FOLDER` serves it on a free port of this machine, and prints the port.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

OPERATOR, VIEWER = "schedules:read schedules:write schedules:run", "schedules:read"
PEOPLE = {  # claims of the ID token by name; the password is the name
    "ana": {"email": "ana@acme.example", "scope": OPERATOR, "tenant": ["acme", "beta"]},
    "olaf": {"email": "olaf@beta.example", "scope": OPERATOR, "tenant": "beta"},
    "vic": {"email": "vic@acme.example", "scope": VIEWER, "tenant": "acme"},
    "nora": {"email": "nora@acme.example", "scope": "openid profile", "tenant": "acme"},
    "tom": {"email": "tom@acme.example", "scope": VIEWER},
    "grit": {"email": "grit@acme.example", "groups": ["staff", "kron-operators"], "tenant": "acme"},
}
PUBLIC_CLIENT, CONFIDENTIAL_CLIENT, CLIENT_SECRET = "kron", "kron-confidential", "a secret: with %, + and ümlaut"
TEMPLATES = {
    "registration/login.html": "<form method=post>{% csrf_token %}{{ form.as_p }}<button>Log in</button></form>",
}


def configure(folder: Path) -> None:
    import django
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    from django.conf import settings

    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    settings.configure(
        SECRET_KEY="test",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "django.contrib.messages",
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "provider.db")}},
        MIGRATION_MODULES={"auth": None, "contenttypes": None, "sessions": None, "oauth2_provider": None},  # faster
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "loaders": [
                        ("django.template.loaders.locmem.Loader", TEMPLATES),
                        "django.template.loaders.app_directories.Loader",
                    ]
                },
            }
        ],
        LOGIN_URL="/login/",
        USE_TZ=True,
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": key.decode(),
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
            "OAUTH2_VALIDATOR_CLASS": f"{__name__}.validator",
            "SCOPES": {"openid": "Who you are", "profile": "Profile", "email": "Address"},
        },
    )
    django.setup()


def __getattr__(name: str):
    """What Django looks for in this module: its addresses, and the class that adds claims to ID tokens."""
    if name == "urlpatterns":
        from django.contrib.auth.views import LoginView
        from django.urls import include, path

        return [path("login/", LoginView.as_view()), path("o/", include("oauth2_provider.urls"))]
    if name == "validator":
        from oauth2_provider.oauth2_validators import OAuth2Validator

        class Validator(OAuth2Validator):
            oidc_claim_scope = None

            def get_additional_claims(self, request):
                return {"sub": f"id-{request.user.username}", **PEOPLE[request.user.username]}

        return Validator
    raise AttributeError(name)


def fill() -> None:
    """Create the tables, the people and the clients."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from oauth2_provider.models import Application

    call_command("migrate", run_syncdb=True, verbosity=0)
    for name in PEOPLE:
        User.objects.create_user(name, password=name)
    for client_id, client_type in ((PUBLIC_CLIENT, "public"), (CONFIDENTIAL_CLIENT, "confidential")):
        Application.objects.create(
            name=client_id,
            client_id=client_id,
            client_secret=CLIENT_SECRET,
            client_type=client_type,
            authorization_grant_type="authorization-code",
            redirect_uris="http://127.0.0.1/ui/callback",  # any port of this machine (RFC 8252)
            post_logout_redirect_uris="http://127.0.0.1/ui/signed-out",
            algorithm="RS256",
            skip_authorization=True,
        )


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


def main(folder: Path) -> None:
    configure(folder)
    fill()
    from django.core.wsgi import get_wsgi_application

    with make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet) as server:
        print(json.dumps({"port": server.server_port}), flush=True)
        server.serve_forever()


@contextmanager
def providing(folder: Path):
    """Yield the issuer of a provider that runs while the context is active."""
    command = [sys.executable, "-m", "tests.dashboard.openid_provider", str(folder)]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    with (folder / "provider.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
        try:
            line = process.stdout.readline()
            assert line, (folder / "provider.log").read_text()[-2000:]
            yield f"http://localhost:{json.loads(line)['port']}/o"
        finally:
            process.terminate()
            process.wait(10)
            process.stdout.close()


if __name__ == "__main__":
    from tests.dashboard import openid_provider  # Django looks for the names of this module, not of `__main__`

    openid_provider.main(Path(sys.argv[1]))
