"""Folders of keys: what is in them, what does not fit, and what other programs say of them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from peerbayes import cli
from peerbayes.live.certificates import expiry
from peerbayes.live.keys import add_keys, sign_members
from peerbayes.live.keys_check import check_keys
from peerbayes.live.members import Members
from peerbayes.live.security import KeyFolder, agent_folder, sign, signed_members, verify
from tests.peerbayes.live.networks import keys_of, pair


def faults(folder: Path) -> dict[str, str]:
    return {entry.folder: entry.fault for entry in check_keys(folder).keys if entry.fault}


def test_every_process_gets_a_folder_in_which_all_fits(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "mast", "véra 木")
    document = check_keys(out)
    assert {(entry.role, entry.name) for entry in document.keys} == {
        ("authority", ":authority"),
        ("router", ":router"),
        ("watcher", ":watcher"),
        ("agent", "mast"),
        ("agent", "véra 木"),
    }
    assert not document.failed
    assert (document.epoch, document.agents) == (0, 2)
    for path in out.rglob("*.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]  # nothing half-made beside it


def test_openssl_takes_the_certificates_for_both_ends(tmp_path: Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    ours, others = keys_of(tmp_path / "a", "mast"), keys_of(tmp_path / "b", "mast")
    authority = ours / "authority" / "certificate.pem"

    def verdict(certificate: Path, purpose: str) -> int:
        command = [program, "verify", "-purpose", purpose, "-CAfile", authority, certificate]
        return subprocess.run(command, capture_output=True, check=False).returncode

    own = agent_folder(ours, "mast") / "certificate.pem"
    assert verdict(own, "sslserver") == verdict(own, "sslclient") == 0
    assert verdict(agent_folder(others, "mast") / "certificate.pem", "sslclient") != 0
    text = subprocess.run(
        [program, "x509", "-in", own, "-noout", "-subject", "-ext", "subjectAltName"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert "CN = mast" in text or "CN=mast" in text
    assert "URI:urn:peerbayes:mast" in text


def test_no_certificate_ends_after_the_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerbayes.live.certificates._YEARS", timedelta(days=10))
    out = keys_of(tmp_path, "mast")
    names = ("router", "authority")
    ends = [expiry((out / name / "certificate.pem").read_bytes()) for name in names]
    assert ends[0] <= ends[1]


def test_a_certificate_ends_with_its_days(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "mast")
    add_keys(out, "mast", renew=True, days=20)
    entry = check_keys(agent_folder(out, "mast"))
    left = datetime.fromisoformat(entry.keys[0].expires or "").replace(tzinfo=UTC) - datetime.now(
        UTC
    )
    assert timedelta(days=18) < left < timedelta(days=20)  # a date, without the hour
    assert entry.failed  # the renewed key is not on the list yet
    sign_members(pair("mast"), out)
    document = check_keys(out)
    assert not document.failed
    assert len(document.notes) == 1
    assert "agents/mast: ends on" in document.notes[0]


def test_signatures_are_ed25519_over_the_purpose_and_the_message(tmp_path: Path) -> None:
    keys = KeyFolder.of_agent(keys_of(tmp_path, "mast"), "mast")
    signature = sign(keys, b"digest")
    # By the library alone, written out: a word, the purpose, a zero byte, the message.
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(keys.public))
    public.verify(bytes.fromhex(signature), b"peerbayes frame\0digest")
    assert verify(keys.public, b"digest", signature)
    assert not verify(keys.public, b"digest", signature, purpose="members")
    assert not verify(keys.public, b"digesT", signature)
    assert not verify(keys.authority, b"digest", signature)


@pytest.mark.parametrize("text", ["", "00" * 64, "é" * 128, "FF" * 64, "0" * 127, "0x" + "1" * 126])
def test_any_other_text_is_no_signature(tmp_path: Path, text: str) -> None:
    keys = KeyFolder.of_agent(keys_of(tmp_path, "mast"), "mast")
    assert not verify(keys.public, b"digest", text)
    assert not verify(text, b"digest", sign(keys, b"digest"))


def test_a_list_of_members_is_the_authoritys_or_none(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "mast", "roof")
    folder = agent_folder(out, "mast")
    keys = KeyFolder.read(folder)
    members = signed_members(keys)
    assert set(members.keys) == {"mast", "roof"}
    assert members.keys["mast"] == keys.public
    document = json.loads((folder / "members.json").read_text())
    document["keys"]["roof"] = keys.public  # mast would speak for roof
    (folder / "members.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="signed by the network's authority"):
        signed_members(keys)
    document["signature"] = sign(keys, Members.from_document(document).content(), purpose="members")
    (folder / "members.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="signed by the network's authority"):
        signed_members(keys)
    assert "agents/mast" in faults(out)


def test_a_newcomer_is_a_member_from_the_next_list_on(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "mast", "roof")
    network = KeyFolder.read(out / "authority").network
    with pytest.raises(ValueError, match=r"agent 'quay': expected keys.*peerbayes keys add"):
        sign_members(pair("mast", "roof", "quay"), out)
    add_keys(out, "quay")
    assert faults(out) == {
        "agents/quay": "not in the list of members yet; run 'peerbayes keys members'"
    }
    members = sign_members(pair("mast", "roof", "quay"), out)
    assert (members.epoch, members.network) == (1, network)
    assert members.names == ("mast", "roof", "quay")
    assert check_keys(out).epoch == 1
    assert not faults(out)
    for folder in ("router", "watcher", "agents/mast", "agents/quay"):
        assert signed_members(KeyFolder.read(out / folder)).epoch == 1
    with pytest.raises(ValueError, match="the agents of the list before, in its order"):
        sign_members(pair("roof", "mast", "quay"), out)


def test_a_renewed_key_counts_from_the_next_list_on(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "mast", "roof")
    before = KeyFolder.of_agent(out, "mast")
    stolen = sign(before, b"digest")
    with pytest.raises(ValueError, match="--renew replaces them"):
        add_keys(out, "mast")
    add_keys(out, "mast", renew=True)
    assert "another key in the list" in faults(out)["agents/mast"]
    members = sign_members(pair("mast", "roof"), out)
    assert not verify(members.keys["mast"], b"digest", stolen)
    assert verify(members.keys["mast"], b"digest", sign(KeyFolder.of_agent(out, "mast"), b"digest"))
    add_keys(out, "router", renew=True)
    assert not faults(out)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "mast", "roof", "quay", "pier")
    mast, roof, quay, pier = (agent_folder(out, name) for name in ("mast", "roof", "quay", "pier"))
    os.chmod(mast / "sign.key", 0o644)
    shutil.copy(pier / "certificate.pem", roof / "certificate.pem")
    shutil.copy(pier / "sign.key", quay / "sign.key")
    (out / "router" / "tls.key").unlink()
    found = faults(out)
    assert found["agents/mast"] == "sign.key: others may read it; run chmod 600"
    assert "made out to ['pier'], not to 'roof'" in found["agents/roof"]
    assert "another key" in found["agents/quay"]
    assert "tls.key" in found["router"]
    assert set(found) == {"agents/mast", "agents/roof", "agents/quay", "router"}


def test_a_stranger_with_a_certificate_of_his_own_does_not_fit(tmp_path: Path) -> None:
    out, others = keys_of(tmp_path / "a", "mast"), keys_of(tmp_path / "b", "mast")
    for name in ("certificate.pem", "tls.key"):
        shutil.copy(agent_folder(others, "mast") / name, agent_folder(out, "mast") / name)
    assert faults(out) == {"agents/mast": "not signed by the network's authority"}


@pytest.mark.parametrize(
    "name", [":router", "m" * 65, "a\nb", "木" * 30], ids=["role", "long", "line", "wide"]
)
def test_names_that_fit_into_no_certificate_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="agent: expected a name of at most 64 printable"):
        keys_of(tmp_path, "mast", name)
    assert not list(tmp_path.iterdir())


def test_a_name_is_no_way_out_of_the_folder(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "..", "../../mast", "/mast")
    assert {path.parent for path in (out / "agents").iterdir()} == {out / "agents"}
    assert len(list((out / "agents").iterdir())) == 3
    assert not check_keys(out).failed


def test_keys_are_never_written_over(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "mast")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="expected a new folder, got one that holds files"):
        keys_of(tmp_path, "mast")
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_a_private_key_is_in_no_message_and_no_text(tmp_path: Path) -> None:
    keys = KeyFolder.of_agent(keys_of(tmp_path, "mast"), "mast")
    sign(keys, b"digest")
    secret = (keys.path / "sign.key").read_text().splitlines()[1]
    assert secret not in repr(keys)
    other = KeyFolder(keys.path, "mast", "agent", keys.network, "0" * 64, keys.authority)
    with pytest.raises(ValueError, match="another key") as caught:
        sign(other, b"digest")
    assert secret not in str(caught.value)


def test_folders_that_are_none_say_so_in_a_line(tmp_path: Path) -> None:
    out = keys_of(tmp_path, "mast", "roof")
    with pytest.raises(ValueError, match=r"folder\.json: no such file"):
        KeyFolder.read(tmp_path)
    with pytest.raises(ValueError, match="keys of agent 'roof', got those of 'mast'"):
        KeyFolder.of_agent(agent_folder(out, "mast"), "roof")
    for text in ("{", "[]", '{"format": "peerbayes-keys", "version": 2}'):
        (agent_folder(out, "mast") / "folder.json").write_text(text)
        with pytest.raises(ValueError, match="expected"):
            KeyFolder.read(agent_folder(out, "mast"))


def test_the_commands_say_what_they_made_and_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["keys", "new", "two-coins", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [entry["folder"] for entry in printed["keys"]][-2:] == ["agents/0", "agents/1"]
    assert cli.main(["keys", "new", "two-coins"]) == 2
    assert cli.main(["keys", "add", "0"]) == 2
    assert "--renew replaces them" in capsys.readouterr().err
    assert cli.main(["keys", "add", "0", "--renew"]) == 0
    assert cli.main(["keys", "check"]) == 1
    assert cli.main(["keys", "members", "two-coins"]) == 0
    assert cli.main(["keys", "check"]) == 0
    assert "epoch 1, 2 agents" in capsys.readouterr().out
    assert cli.main(["keys", "check", "keys/agents/1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["keys"][0]["name"] == "1"
    assert cli.main(["keys", "check", "elsewhere"]) == 2
    assert cli.main(["keys"]) == 0  # its help
    certificate = x509.load_pem_x509_certificate(Path("keys/router/certificate.pem").read_bytes())
    assert certificate.subject.rfc4514_string() == "CN=:router"
