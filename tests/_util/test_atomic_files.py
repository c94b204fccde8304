"""Files are replaced as a whole; what is no regular file is written to or refused."""

import os
import re
import socket
import stat
import threading
from pathlib import Path

import pytest

from diffgbm._util.atomic_files import check_folder, replacing

posix = pytest.mark.skipif(os.name != "posix", reason="modes, pipes and devices are those of POSIX")


def write(path, content=b"new"):
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def null_device(folder):
    """Return a device that takes everything; for root, who could replace the system's, another one."""
    if os.geteuid() != 0:
        return Path(os.devnull)
    device = folder / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.stat(os.devnull).st_rdev)
        device.write_bytes(b"x")
    except OSError:
        pytest.skip("root may not make a device here")
    return device


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_file_has_all_of_the_old_or_all_of_the_new(old, tmp_path):
    path = tmp_path / "f.csv"
    if old:
        path.write_bytes(old)
    with pytest.raises(FileNotFoundError), replacing(path) as temporary:  # noqa: PT012
        temporary.write_bytes(b"half")
        (tmp_path / "missing").read_bytes()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([old] if old else [])
    write(path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"new"]


@posix
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o444, 0o755])
def test_an_existing_file_keeps_its_mode(kept, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(kept)
    with replacing(path) as temporary:
        assert mode(temporary) == 0o600  # nobody else reads it while it is written, either
        temporary.write_bytes(b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", kept)


@posix
def test_a_new_file_has_the_mode_of_the_mask(tmp_path):
    (tmp_path / "plain").touch()
    write(tmp_path / "f")
    assert mode(tmp_path / "f") == mode(tmp_path / "plain")


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_root_leaves_a_file_to_its_owner(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


@posix
@pytest.mark.parametrize("exists", [True, False])
def test_links_stay_and_the_file_they_lead_to_is_written(exists, tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "f", tmp_path / "link"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to("there/f")
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["f", "link", "there"]


@posix
def test_a_device_is_written_to_and_stays(tmp_path):
    null, link = null_device(tmp_path), tmp_path / "link"
    link.symlink_to(null)
    for path in (link, null):
        write(path)
        assert stat.S_ISCHR(null.stat().st_mode)
    assert {p.name for p in tmp_path.iterdir()} <= {"null", "link"}


@posix
def test_a_full_device_is_an_error():
    if not os.path.exists("/dev/full") or os.geteuid() == 0:
        pytest.skip("no /dev/full, or root could replace it")
    with pytest.raises(OSError, match="No space left"):
        write("/dev/full")


@posix
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to_and_stays(linked, tmp_path):
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(path, b"x" * 200_000)
    reader.join()
    assert read == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
def test_a_pipe_without_a_name(tmp_path):
    if not os.path.isdir("/dev/fd"):
        pytest.skip("no /dev/fd")
    out, into = os.pipe()
    write(f"/dev/fd/{into}")
    os.close(into)
    with open(out, "rb") as file:
        assert file.read() == b"new"


@posix
def test_nothing_is_written_to_a_pipe_if_the_work_fails(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # nobody reads: a writer would wait for ever
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "pipe"):
        (tmp_path / "missing").read_bytes()


@posix
def test_sockets_and_folders_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(OSError, match="s is a special file that cannot be written to: name a regular file"):
            write("s")
        assert stat.S_ISSOCK(os.stat("s").st_mode)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write(tmp_path)
    (tmp_path / "f").touch()
    for path in ("missing/f", "f/g"):
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            write(path)


@pytest.mark.parametrize("letter", ["a", "\N{SNOWMAN}"])
def test_names_of_any_length_that_the_system_takes(letter, tmp_path):
    name = letter * ((255 - len(".csv")) // len(letter.encode())) + ".csv"
    write(tmp_path / name)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [(name, b"new")]


@pytest.mark.parametrize("by", ["name", "link", "hard link"])
def test_the_output_is_not_the_input(by, tmp_path):
    source, output = tmp_path / "t.csv", tmp_path / "o.csv"
    source.touch()
    if by == "name":
        output = tmp_path / "." / "t.csv"
    elif by == "link":
        output.symlink_to(source)
    else:
        os.link(source, output)
    message = f"{output} is the input {source}: give the output another name."
    with pytest.raises(ValueError, match=re.escape(message)):
        check_folder(output, tmp_path / "other", source)
    check_folder(tmp_path / "new", source)


def test_the_output_is_not_an_input_that_is_still_to_be_made(tmp_path):
    with pytest.raises(ValueError, match="is the input"):
        check_folder(tmp_path / "f", tmp_path / "f")


def test_the_output_does_not_lie_in_a_folder_that_is_read(tmp_path):
    (tmp_path / "parts").mkdir()
    with pytest.raises(ValueError, match=r"lies in the folder .*parts, which is read"):
        check_folder(tmp_path / "parts" / "p.parquet", tmp_path / "parts")
    check_folder(tmp_path / "p.parquet", tmp_path / "parts")


@posix
def test_a_device_may_be_input_and_output():
    check_folder(os.devnull, os.devnull)
