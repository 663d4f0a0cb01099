"""Settings of the dashboard: where it is on by default, and what the check of a login says."""

import pytest

from kron.apps.cli.commands.serve import start_text
from kron.apps.service.app import make_app
from kron.apps.service.config import Config
from kron.apps.service.config_reader import read_config
from kron.errors import InvalidSetting
from tests.dashboard.signing_in import SESSION_KEY
from tests.service.http import SECRET
from tests.service.tokens import ISSUER, jwks

LOGIN = {
    "UI_ISSUER": "https://login.example",
    "UI_CLIENT_ID": "kron",
    "UI_URL": "https://kron.example/ui",
    "UI_SESSION_KEY": SESSION_KEY,
}


def tokens(folder):
    return {"AUTH": "jwt", "JWKS": jwks(folder), "ISSUER": ISSUER}


def has_pages(config):
    return any(getattr(route, "path", "") == "/ui" for route in make_app(config).routes)


def test_dashboard_is_on_without_tokens_and_with_a_login_and_off_otherwise(tmp_path):
    cases = [
        ({"AUTH": "none"}, True),
        ({"AUTH": "none", "UI": "false"}, False),
        (tokens(tmp_path), False),
        ({**tokens(tmp_path), **LOGIN}, True),
        ({**tokens(tmp_path), **LOGIN, "UI": "true"}, True),
        ({**tokens(tmp_path), **LOGIN, "UI": "false"}, False),
    ]
    for settings, expected in cases:
        assert has_pages(read_config({}, settings)) is expected, settings


def test_start_line_names_the_dashboard_if_there_is_one(tmp_path):
    cases = [
        ({"AUTH": "none"}, ", dashboard http://127.0.0.1:8080/ui/"),
        ({**tokens(tmp_path), **LOGIN}, ", dashboard https://kron.example/ui/"),
        (tokens(tmp_path), ""),
    ]
    for settings, expected in cases:
        line = start_text(read_config({}, settings))
        assert line == f"kron is serving on http://127.0.0.1:8080, store memory:{expected}"


def test_settings_that_were_never_checked_open_no_dashboard_to_everyone(tmp_path):
    assert not has_pages(Config(ui=True, jwks=jwks(tmp_path), issuer=ISSUER))


@pytest.mark.parametrize(
    ("changes", "setting", "message"),
    [
        ({"UI_ISSUER": "", "UI": "true"}, "ui_issuer", "UI_ISSUER  ?.*is missing: with AUTH=jwt, people sign in"),
        ({"UI_CLIENT_ID": ""}, "ui_client_id", "is missing"),
        ({"UI_URL": ""}, "ui_url", "is missing"),
        ({"UI_SESSION_KEY": ""}, "ui_session_key", "is missing"),
        ({"UI_ISSUER": "http://login.example"}, "ui_issuer", "not a URL that is protected by TLS"),
        ({"UI_ISSUER": "login.example"}, "ui_issuer", "not a URL that is protected by TLS"),
        ({"UI_ISSUER": "https://login.example?x=1"}, "ui_issuer", "not a URL that is protected by TLS"),
        ({"UI_ISSUER": "https://user:secret@login.example"}, "ui_issuer", "not a URL that is protected by TLS"),
        ({"UI_ISSUER": "https://[x"}, "ui_issuer", "not a URL that is protected by TLS"),
        ({"UI_URL": "http://kron.example/ui"}, "ui_url", "not a URL that is protected by TLS"),
        ({"UI_URL": "https://kron.example/"}, "ui_url", "does not end in /ui"),
        ({"UI_SESSION_KEY": "short"}, "ui_session_key", "is malformed"),
        ({"UI_SESSION_KEY": SECRET, "WEBHOOK_SECRET": SECRET}, "ui_session_key", "is a secret that others know"),
        ({"UI_SCOPES": "profile"}, "ui_scopes", "does not contain openid"),
        ({"UI_VIEWER_VALUES": ","}, "ui_viewer_values", "is empty"),
        ({"UI_OPERATOR_VALUES": ","}, "ui_operator_values", "is empty"),
        ({"UI_ROLE_CLAIM": ""}, "ui_role_claim", "is empty"),
        ({"AUTH": "none"}, "ui_issuer", "has no effect with AUTH=none"),
    ],
)
def test_login_that_cannot_work_is_refused_with_what_to_write(tmp_path, changes, setting, message):
    with pytest.raises(InvalidSetting, match=message.replace("  ?", "")) as caught:
        read_config({}, {**tokens(tmp_path), **LOGIN, **changes})
    assert caught.value.details["setting"] == setting
    assert caught.value.hint
    assert SESSION_KEY not in str(caught.value) and SECRET not in str(caught.value)


def test_missing_issuer_names_all_that_a_login_needs(tmp_path):
    with pytest.raises(InvalidSetting) as caught:
        read_config({}, {**tokens(tmp_path), "UI": "true"})
    for name in (*LOGIN, "UI=false"):
        assert name in caught.value.hint


@pytest.mark.parametrize("name", ["UI_CLIENT_ID", "UI_URL", "UI_SESSION_KEY"])
def test_login_without_its_issuer_is_refused_unless_the_dashboard_is_off(tmp_path, name):
    settings = {**tokens(tmp_path), name: LOGIN[name]}
    with pytest.raises(InvalidSetting, match=r"UI_ISSUER .*is missing") as caught:
        read_config({}, settings)
    assert (caught.value.code, caught.value.details["setting"]) == ("CONFIG", "ui_issuer")
    assert not read_config({}, {**settings, "UI": "false"}).has_dashboard
    assert read_config({}, {"AUTH": "none", name: LOGIN[name]}).has_dashboard


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"])
def test_plain_http_is_allowed_on_this_machine_for_trials(tmp_path, url):
    config = read_config({}, {**tokens(tmp_path), **LOGIN, "UI_URL": f"{url}/ui", "UI_ISSUER": f"{url}/o"})
    assert config.has_dashboard


def test_worker_ignores_the_settings_of_the_login():
    assert read_config({}, LOGIN, worker=True).ui_issuer
