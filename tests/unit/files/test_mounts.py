import os

import pytest

from carrel.app import Workspace
from carrel.files import mounts
from carrel.files.mounts import tell_of_network


@pytest.fixture
def table(tmp_path):
    """What a kernel tells of the file system that this directory is on, as if it were of another kind."""
    device = tmp_path.stat().st_dev

    def told(kind: str):
        file = tmp_path / "mountinfo"
        other = "21 1 0:99999 / /proc rw shared:12 - nfs none rw\n"
        own = f"30 1 {os.major(device)}:{os.minor(device)} /a /b\\040c rw,relatime - {kind} host:/a rw\n"
        file.write_text(other + own)
        return file

    return told


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "9p", "fuse.sshfs"])
def test_who_works_over_a_network_is_told_that_less_is_promised_there(tmp_path, table, kind):
    (found,) = tell_of_network(tmp_path, table(kind))
    assert found.code == "network_files"
    assert f"on {kind}:" in found.message


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "fuseblk", "overlay"])
def test_of_a_disk_of_this_machine_nothing_is_said(tmp_path, table, kind):
    assert tell_of_network(tmp_path, table(kind)) == ()


def test_nothing_is_said_where_nothing_can_be_known(tmp_path, table):
    assert tell_of_network(None, table("nfs")) == ()
    assert tell_of_network(tmp_path / "gone", table("nfs")) == ()
    assert tell_of_network(tmp_path, tmp_path / "none") == ()


def test_health_tells_its_owner_and_nobody_else(cli, sample, table, monkeypatch):
    monkeypatch.setattr(mounts.tell_of_network, "__defaults__", (table("nfs4"),))
    with Workspace.open(sample) as workspace:
        own, others = workspace.health(), workspace.health(scope="shared")
    assert "network_files" in [each.code for each in own.findings]
    assert "network_files" not in [each.code for each in others.findings]
