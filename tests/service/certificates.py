"""Certificates for tests: authorities, and what they sign."""

import datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = datetime.timedelta(days=1)
_NO = dict.fromkeys(
    ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
    False,
)
_SIGNS = x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **_NO)


class Authority:
    """An authority of its own, with its files in a folder."""

    def __init__(self, folder, name="authority"):
        self.folder, self.key, self.name = folder, ec.generate_private_key(ec.SECP256R1()), _name(name)
        made = _builder(self.name, self.name, self.key).add_extension(x509.BasicConstraints(True, None), True)
        made = made.add_extension(_SIGNS, True)
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), False)
        self.certificate = made.sign(self.key, hashes.SHA256())
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name, *, days=1, more=()):
        """The files of a certificate and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        names += [(x509.UniformResourceIdentifier if ":" in each else x509.DNSName)(each) for each in more]
        made = _builder(_name(name), self.name, key, days).add_extension(x509.SubjectAlternativeName(names), False)
        by = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        made = made.add_extension(by, False)
        certificate = made.sign(self.key, hashes.SHA256())
        paths = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
        return paths


def _name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _builder(subject, issuer, key, days=1):
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - 3 * DAY)
        .not_valid_after(now + days * DAY)
    )
