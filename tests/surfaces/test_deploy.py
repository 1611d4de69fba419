"""What lies in deploy/: its commands, options, variables and extras are those that Carrel has, and they work."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
import yaml

from carrel.addresses import Key
from carrel.config import user_directories
from carrel.config.remote import find_remote

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
OURS = {name: each for name, each in COMPOSE["services"].items() if "build" in each}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}")
GIVEN = {
    "POSTGRES_PASSWORD": "secret",
    "CARREL_TOKEN": "a-token-that-every-server-of-this-test-is-given",
    "CARREL_HOST": "agents.example",
    "CARREL_WORKSPACE": "pg://acme/studio",
}


def filled(text: str, values: Mapping[str, str] = GIVEN) -> str:
    """A text of the compose file or of the unit with its variables, as those who run it fill them in."""
    return VARIABLE.sub(lambda found: values.get(found[1], found[2] or ""), text)


def words_of(service: str) -> list[str]:
    return [filled(word) for word in OURS[service]["command"]]


def commands_of_unit() -> list[list[str]]:
    unit = (DEPLOY / "carrel.service").read_text("utf-8")
    lines = re.findall(r"^ExecStart(?:Pre)?=(.*)$", unit, re.MULTILINE)
    return [shlex.split(filled(line))[1:] for line in lines]


@pytest.mark.parametrize("words", [*map(words_of, OURS), *commands_of_unit()], ids=" ".join)
def test_a_command_that_is_run_exists_with_its_options(cli, words: list[str]) -> None:
    verbs = [word for word in words if re.fullmatch("[a-z]+", word)]
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    told = cli(*verbs, "--help")
    assert told.code == 0
    assert options <= set(re.findall(r"--[a-z-]+", told.text))


def test_the_compose_file_makes_tables_and_a_workspace_and_serves_it(database: str, tmp_path: Path) -> None:
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("CARREL_")},
        **{name: filled(value) for name, value in OURS["carrel"]["environment"].items() if value},
        "CARREL_DATABASE_URL": database,
        "CARREL_HOME": str(tmp_path / "home"),
    }
    carrel = [sys.executable, "-m", "carrel"]
    for service in ("migrate", "workspace"):
        subprocess.run([*carrel, *words_of(service)], env=environ, check=True, capture_output=True)
    here = [word.replace("0.0.0.0", "127.0.0.1") for word in words_of("carrel")]  # a test is for nobody else
    with served([*carrel, *here, "--port", "0", "--json"], environ) as port:
        for host, status in {"agents.example": 200, "other.example": 403}.items():
            assert asked(port, host) == status
    assert not (tmp_path / "home").exists()


@contextmanager
def served(command: list[str], environ: Mapping[str, str]) -> Iterator[int]:
    with subprocess.Popen(command, env=dict(environ), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
        finally:
            process.terminate()


def asked(port: int, host: str) -> int:
    while True:
        connection = HTTPConnection("127.0.0.1", port)
        try:
            told = {"Host": host, "Authorization": f"Bearer {GIVEN['CARREL_TOKEN']}"}
            connection.request("GET", "/api/v1/w/acme.studio/files/AGENTS.md", headers=told)
            return connection.getresponse().status
        except ConnectionError:
            time.sleep(0.05)
        finally:
            connection.close()


def test_every_variable_is_one_that_carrel_reads(tmp_path: Path) -> None:
    names = {name for each in OURS.values() for name in each["environment"]}
    environ = {**dict.fromkeys(names, "value"), "CARREL_HOME": str(tmp_path)}
    remote = find_remote(environ, user_directories(environ))
    assert (remote.database, remote.objects) == (Key("value"), "value")
    assert names - {"CARREL_DATABASE_URL", "CARREL_OBJECTS", "CARREL_TOKEN"} == set(remote.access)


def test_every_variable_that_is_asked_for_is_in_the_example() -> None:
    example = (DEPLOY / "env.example").read_text("utf-8")
    named = set(re.findall(r"^#?(\w+)=", example, re.MULTILINE))
    files = [DEPLOY / name for name in ("compose.yaml", "carrel.service")]
    asked_for = {name for path in files for name, _ in VARIABLE.findall(path.read_text("utf-8"))}
    passed_on = {
        name for each in OURS.values() for name, value in each["environment"].items() if value is None
    }
    assert asked_for | passed_on <= named
    assert named <= asked_for | passed_on


def test_the_image_has_extras_that_exist_and_files_that_its_ignore_file_lets_in() -> None:
    docker = (DEPLOY / "Dockerfile").read_text("utf-8")
    extras = re.search(r"/src\[([a-z,]+)\]", docker)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    assert 'ENTRYPOINT ["carrel"]' in docker
    assert "carrel" in PROJECT["project"]["scripts"]
    let_in = re.findall(r"^!(.+)$", (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8"), re.MULTILINE)
    assert all((ROOT / name).exists() for name in let_in)
    needed = {"pyproject.toml", "constraints.txt", "src", PROJECT["project"]["readme"]}
    assert needed | set(PROJECT["project"]["license-files"]) <= set(let_in)


def test_proxy_image_and_servers_agree_on_the_port() -> None:
    proxy = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert proxy.count("{") == proxy.count("}")
    port = re.search(r"dynamic a carrel (\d+)", proxy)
    assert port is not None
    assert f"EXPOSE {port[1]}" in (DEPLOY / "Dockerfile").read_text("utf-8")
    assert ["--port", port[1]] == commands_of_unit()[-1][2:4]
    assert "CARREL_HOST" in COMPOSE["services"]["proxy"]["environment"]


def test_the_unit_is_one_that_systemd_can_read() -> None:
    unit = RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read_string((DEPLOY / "carrel.service").read_text("utf-8"))
    assert unit.sections() == ["Unit", "Service", "Install"]
    assert unit["Service"]["Restart"] == "always"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
