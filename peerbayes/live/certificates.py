"""Private keys and X.509 certificates of a live network; all of them Ed25519.

Each process has two keys: one for TLS, which its certificate names, and, if it is an agent's, one
with which it signs frames. The network's authority is a certificate of its own, which has signed
all others; nobody else's certificates are valid in the network.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from theory.validation import fail

# Clocks of machines differ; certificates are valid from before they were made.
_SLACK = timedelta(days=1)

_YEARS = timedelta(days=3650)


def authority_certificate(key: Ed25519PrivateKey, common_name: str, network: str) -> bytes:
    """Certificate, PEM, of a network's authority; valid for ten years.

    Its name is distinct for each network, so that no chain leads to another's.
    """
    own = _named(f"peerbayes {network}", common_name)
    return _signed(own, own, key, key, _YEARS, [], is_authority=True)


def certificate(
    key: Ed25519PrivateKey,
    common_name: str,
    *,
    by: Ed25519PrivateKey,
    authority: bytes,
    days: int,
) -> bytes:
    """Certificate, PEM, of one process, for both ends of a link.

    Parameters
    ----------
    key
        The process's key for TLS.
    common_name
        Its name, at most 64 characters; it is the alternative name too, as a URN.
    by, authority
        The authority's private key and its certificate, PEM.
    days
        How long it is valid; the authority's end is its end at the latest.
    """
    from urllib.parse import quote

    issuer = x509.load_pem_x509_certificate(authority)
    life = min(timedelta(days=days), issuer.not_valid_after_utc - datetime.now(UTC))
    urn = x509.UniformResourceIdentifier(f"urn:peerbayes:{quote(common_name, safe='')}")
    extensions = [
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
        x509.SubjectAlternativeName([urn]),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()),  # type: ignore[arg-type]
    ]
    subject = _named("", common_name)
    return _signed(subject, issuer.subject, key, by, life, extensions, is_authority=False)


def public_hex(key: Ed25519PrivateKey) -> str:
    """The public key, 64 hexadecimal digits."""
    return key.public_key().public_bytes_raw().hex()


def write_private(path: Path, key: Ed25519PrivateKey) -> None:
    """Write a private key, PEM, into a new file that its owner alone may read.

    Raises
    ------
    FileExistsError
        If there is one: keys are never written over.
    """
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def private_key(path: Path, public: str | None = None) -> Ed25519PrivateKey:
    """The private key in a file.

    Raises
    ------
    ValueError
        In one line, if there is none, or it is not that of the `public` key; the message shows
        nothing of the file.
    """
    wanted = "a private key written by 'peerbayes keys'"
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise fail(str(path), wanted, reason, "correct the folder or its permissions") from None
    except (ValueError, TypeError):
        raise fail(str(path), wanted, "something else", "make the keys anew") from None
    if not isinstance(key, Ed25519PrivateKey) or public not in (None, public_hex(key)):
        raise fail(str(path), wanted, "another key", "make the keys anew")
    return key


def fault_of(text: bytes, authority: bytes, common_name: str, key: Path) -> str:
    """What is wrong with a certificate, PEM, in a few words; "" if nothing is.

    Asked: whether the authority has signed it, its name, its time, and its private key.
    """
    try:
        own = x509.load_pem_x509_certificate(text)
        issuer = x509.load_pem_x509_certificate(authority)
        own.verify_directly_issued_by(issuer)
    except InvalidSignature:
        return "not signed by the network's authority"
    except (ValueError, TypeError):
        return "no certificate of the network's authority"
    names = [one.value for one in own.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if names != [common_name]:
        return f"made out to {names!r:.80}, not to {common_name!r}"
    if not own.not_valid_before_utc <= datetime.now(UTC) <= expiry(text):
        return f"valid from {own.not_valid_before_utc:%Y-%m-%d} to {expiry(text):%Y-%m-%d} only"
    try:
        public = own.public_key().public_bytes_raw()  # type: ignore[union-attr]
        private_key(key, public.hex())
    except (ValueError, AttributeError) as error:
        return f"its private key does not fit ({error})"
    return ""


def expiry(text: bytes) -> datetime:
    """When a certificate, PEM, ends."""
    return x509.load_pem_x509_certificate(text).not_valid_after_utc


def _named(organization: str, common_name: str) -> x509.Name:
    """The name of whoever has a certificate; of an organization, if that is not empty."""
    names = ((NameOID.ORGANIZATION_NAME, organization), (NameOID.COMMON_NAME, common_name))
    return x509.Name([x509.NameAttribute(kind, name) for kind, name in names if name])


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: Ed25519PrivateKey,
    by: Ed25519PrivateKey,
    life: timedelta,
    extensions: Sequence[x509.ExtensionType],
    *,
    is_authority: bool,
) -> bytes:
    """A certificate, PEM, with these extensions and those that all have."""
    now = datetime.now(UTC)
    unused = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    usage = x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        **dict.fromkeys((*unused, "encipher_only", "decipher_only"), False),
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SLACK)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(x509.BasicConstraints(is_authority, 0 if is_authority else None), True)
        .add_extension(usage, True)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, False)
    return builder.sign(by, None).public_bytes(serialization.Encoding.PEM)
