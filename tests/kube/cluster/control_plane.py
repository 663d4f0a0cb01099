"""Real Kubernetes control plane on 127.0.0.1: etcd, kube-apiserver and kube-controller-manager.

It has no node, so that pods stay pending until a test says how they end (`pods.py`).
"""

import base64
import json
import os
import shutil
import signal
import ssl
import subprocess
from contextlib import contextmanager

import httpx2
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.kube.cluster.audit_log import audit_options
from tests.kube.cluster.processes import Processes
from tests.kube.cluster.release import ETCD
from tests.postgres import free_port

ADMIN = "admin"  # user, and its token
TIMEOUT_SECONDS = 180  # of what takes seconds on an idle machine
READY_SECONDS = 180.0  # a busy machine needs minutes for what takes 10 s
API_SERVER, CONTROLLERS = "kube-apiserver", "kube-controller-manager"
RUN_CONTROLLERS = (
    "job,cronjob,garbagecollector,namespace,serviceaccount,resourcequota,ttl-after-finished,podgc,nodelifecycle"
)
EXPIRY_ON, INSECURE_PORT_GONE = 21, 24  # minor releases
MERGE_PATCH = "application/merge-patch+json"


class Cluster:
    """A control plane of a release. `kubeconfig` names the administrator."""

    def __init__(self, release):
        self.release = release
        self.processes = Processes("kron-kube-")
        self.folder = self.processes.folder
        self.port, self.etcd_port, self.peer_port = free_port(), free_port(), free_port()
        self.url, self.kubeconfig = f"https://127.0.0.1:{self.port}", self.folder / "kubeconfig"
        self.http = None

    def start(self):
        """Start the servers, and wait until they are ready."""
        _write_key(self.folder / "accounts.key")
        (self.folder / "tokens.csv").write_text(f'{ADMIN},{ADMIN},{ADMIN},"system:masters"\n', encoding="utf-8")
        self.start_etcd()
        self.start_api_server()
        self.start_controllers()

    def close(self):
        """Stop the servers, and remove their folder."""
        if self.http:
            self.http.close()
        self.processes.close()

    def start_etcd(self):
        """Start the database."""
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.peer_port}"
        options = {
            "name": "one",
            "data-dir": self.folder / "etcd",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"one={peer}",
            "unsafe-no-fsync": "true",
        }
        self._start(ETCD, options)
        self.processes.until(lambda: _is_ok(f"{client}/health"), READY_SECONDS, "etcd is ready")

    def start_api_server(self):
        """Start the API server, and wait until it is ready."""
        options = {
            "etcd-servers": f"http://127.0.0.1:{self.etcd_port}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": self.port,
            "cert-dir": self.folder / "certificates",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": "accounts.key",
            "service-account-signing-key-file": "accounts.key",
            "service-cluster-ip-range": "10.96.0.0/16",
            "authorization-mode": "RBAC",
            "token-auth-file": "tokens.csv",
            "disable-admission-plugins": "ServiceAccount",
            "enable-admission-plugins": "OwnerReferencesPermissionEnforcement",  # as some distributions have it
            "endpoint-reconciler-type": "none",
            **audit_options(self.folder),
            **self._alpha_features(),
        }
        self._start(API_SERVER, options)
        self.processes.until(self._is_ready, READY_SECONDS, "the API server is ready")

    def start_controllers(self):
        """Start the controllers of Jobs, CronJobs, namespaces, nodes and garbage."""
        options = {
            "kubeconfig": self.kubeconfig,
            "secure-port": "0",
            "leader-elect": "false",
            "service-account-private-key-file": "accounts.key",
            "controllers": RUN_CONTROLLERS,
            "node-monitor-grace-period": "30s",
            **({"port": "0"} if self.release.minor < INSECURE_PORT_GONE else {}),
            **self._alpha_features(),
        }
        self._start(CONTROLLERS, options)

    def restart_api_server(self, sign=signal.SIGKILL):
        """End the API server and start it again on its port, with empty caches."""
        self.processes.stop(API_SERVER, sign)
        self.start_api_server()

    @contextmanager
    def database_of_now(self):
        """Afterwards the cluster is as it was before: its database is restored from a backup."""
        self.processes.stop(ETCD)
        shutil.copytree(self.folder / "etcd", self.folder / "backup")
        self.start_etcd()
        yield
        self.processes.stop(API_SERVER, signal.SIGKILL)
        self.processes.stop(ETCD, signal.SIGKILL)
        shutil.rmtree(self.folder / "etcd")
        (self.folder / "backup").rename(self.folder / "etcd")
        self.start_etcd()
        self.start_api_server()

    def compact(self):
        """Drop all old versions from the database; return the version that is left."""
        found = self._etcd("kv/range", {"key": base64.b64encode(b"/").decode()})
        revision = found["header"]["revision"]
        self._etcd("kv/compaction", {"revision": revision, "physical": True})
        return revision

    def request(self, method, path, body=None, *, content_type="application/json"):
        """The answer to a request of the administrator. A refusal is an answer, too."""
        content = None if body is None else json.dumps(body)
        headers = {"Content-Type": content_type}
        return self.http.request(method, path, content=content, headers=headers)

    def do(self, method, path, body=None, **options):
        """The object that a request gives."""
        answer = self.request(method, path, body, **options)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def kubectl(self, *words, stdin=None):
        """What kubectl prints."""
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), *words]
        environment = {**os.environ, "HOME": str(self.folder)}  # where kubectl keeps what it has learned of the API
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=60, check=False, env=environment
        )
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def _alpha_features(self):
        """The features that the tests use and that an old release does not switch on by itself."""
        return {"feature-gates": "TTLAfterFinished=true"} if self.release.minor < EXPIRY_ON else {}

    def _start(self, program, options):
        words = [f"--{name}={value}" for name, value in options.items()]
        self.processes.start(program, self.release.programs / program, *words)

    def _is_ready(self):
        """Whether the API server answers. The first answer needs its certificate, which it makes itself."""
        certificate = self.folder / "certificates" / "apiserver.crt"
        if not self.http and certificate.exists() and certificate.read_text().count("END CERTIFICATE") > 1:
            self.write_kubeconfig(self.kubeconfig, ADMIN)
            verify = ssl.create_default_context(cafile=certificate)
            headers = {"Authorization": f"Bearer {ADMIN}"}
            self.http = httpx2.Client(base_url=self.url, headers=headers, verify=verify, trust_env=False, timeout=30)
        if not self.http:
            return False
        try:
            return self.http.get("/readyz").text == "ok"
        except httpx2.HTTPError:
            return False

    def write_kubeconfig(self, path, token):
        """Write a kubeconfig of the user to whom a token belongs."""
        certificate = self.folder / "certificates" / "apiserver.crt"
        cluster = {"server": self.url, "certificate-authority": str(certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        path.write_text(json.dumps(config), encoding="utf-8")

    def _etcd(self, call, body, http=None):
        """The answer of the database. Many calls share a client: a new one takes longer than the call."""
        url = f"http://127.0.0.1:{self.etcd_port}/v3/{call}"
        answer = http.post(url, json=body) if http else httpx2.post(url, json=body, timeout=30, trust_env=False)
        assert answer.is_success, answer.text
        return answer.json()


@contextmanager
def running(release):
    """A control plane that is stopped afterwards."""
    cluster = Cluster(release)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def _is_ok(url):
    try:
        return httpx2.get(url, timeout=5, trust_env=False).is_success
    except httpx2.HTTPError:
        return False


def _write_key(path):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
