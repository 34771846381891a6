"""How a pipeline gets in at Kafka: what belongs together stands together, and files lie where they may."""

from pathlib import Path

import pytest

from tests.unit.settings.shop import CANARY, GOOD, codes
from wrackline.control.runtime.ground.installed import Installed
from wrackline.producers.kafka.client import Client, Identity
from wrackline.schemas.pipelines.pipeline import Pipeline, check, load
from wrackline.schemas.settings.secret_refs import ALLOW_VARIABLE, Allowed, Resolver

NEEDED = "settings.needed"
LOCATIONS = (
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.keystore.location",
    "https.ca.location",
    "sasl.kerberos.keytab",
)


def checked(folder: Path, **kafka: str) -> Pipeline:
    given = {f"kafka.{name.replace('_', '.')}": value for name, value in kafka.items()}
    return check(
        {**GOOD, **given}, Installed(), Resolver(Allowed(folders=(folder,)), {"WRACKLINE_X": CANARY})
    )


@pytest.mark.parametrize(
    ("given", "lacking", "needed"),
    [
        ({"security_protocol": "SASL_SSL"}, "security.protocol", "sasl.mechanism"),
        ({"sasl_mechanism": "GSSAPI"}, "sasl.mechanism", "security.protocol"),
        ({"sasl_mechanism": "GSSAPI", "security_protocol": "ssl"}, "sasl.mechanism", "security.protocol"),
        (
            {"security_protocol": "sasl_ssl", "sasl_mechanism": "PLAIN", "sasl_username": "u"},
            "sasl.mechanism",
            "sasl.password",
        ),
        ({"ssl_ca_location": "{folder}/ca.crt"}, "ssl.ca.location", "security.protocol"),
        (
            {"security_protocol": "ssl", "ssl_certificate_location": "{folder}/us.crt"},
            "ssl.certificate.location",
            "ssl.key.location",
        ),
    ],
)
def test_what_would_have_no_effect_alone_is_refused(
    tmp_path: Path, given: dict[str, str], lacking: str, needed: str
) -> None:
    placed = {name: value.replace("{folder}", str(tmp_path)) for name, value in given.items()}
    found = checked(tmp_path, **placed)
    assert codes(found) == [(f"kafka.{lacking}", NEEDED)]
    assert f"kafka.{needed}" in found.problems[0].error.sentence
    assert found.values is None


def test_a_token_needs_all_that_is_asked_for_it(tmp_path: Path) -> None:
    found = checked(tmp_path, security_protocol="sasl_ssl", sasl_mechanism="OAUTHBEARER")
    wanted = {
        f"kafka.sasl.oauthbearer.{part}" for part in ("client.id", "client.secret", "token.endpoint.url")
    }
    assert codes(found) == [("kafka.sasl.mechanism", NEEDED)] * 3
    assert {problem.error.sentence.rpartition(" ")[2] for problem in found.problems} == wanted


@pytest.mark.parametrize("endpoint", ["https://idp.example:8443/oauth2/token?x=y", "http://[::1]:80/token"])
def test_every_client_asks_the_endpoint_for_its_token(tmp_path: Path, endpoint: str) -> None:
    found = checked(
        tmp_path,
        security_protocol="sasl_ssl",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_client_id="us",
        sasl_oauthbearer_client_secret=CANARY,
        sasl_oauthbearer_scope="kafka",
        sasl_oauthbearer_extensions="logicalCluster=lkc-1,identityPoolId=pool-1",
        sasl_oauthbearer_token_endpoint_url=endpoint,
    )
    assert found.values is not None, codes(found)
    made = Client(found.values.below("kafka."))
    me = Identity("g", "c", 0, 1)
    for settings in (made.producer(me), made.reader(me), made.admin()):
        assert settings["sasl.oauthbearer.method"] == "oidc"
        assert settings["sasl.oauthbearer.client.secret"] == CANARY
        assert settings["sasl.oauthbearer.token.endpoint.url"] == endpoint
    assert CANARY not in repr(made) + repr(found.values)
    assert "sasl.oauthbearer.method" not in Client({"bootstrap.servers": "k"}).admin()


@pytest.mark.parametrize("name", LOCATIONS)
@pytest.mark.parametrize("path", ["/etc/passwd", "{folder}/../outside", "{folder}/link", "relative"])
def test_a_file_that_a_setting_names_lies_in_an_allowed_folder(tmp_path: Path, name: str, path: str) -> None:
    """A-CLIENT-04."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to("/etc/passwd")
    found = checked(inside, **{name: path.replace("{folder}", str(inside)), "security_protocol": "ssl"})
    assert (f"kafka.{name}", "secret.not_allowed") in codes(found)
    assert found.values is None


def test_the_value_of_a_reference_in_a_path_is_not_shown(tmp_path: Path) -> None:
    """A-CLIENT-06."""
    found = checked(tmp_path, ssl_ca_location="/${env:WRACKLINE_X}/ca.crt", security_protocol="ssl")
    [problem] = [problem for problem in found.problems if problem.error.code == "secret.not_allowed"]
    assert CANARY not in str(problem.error)


def test_a_pipelines_file_and_the_workers_environment_allow_folders(tmp_path: Path) -> None:
    given = {**GOOD, "kafka.security.protocol": "ssl", "kafka.ssl.ca.location": f"{tmp_path}/ca.crt"}
    file = tmp_path / "pipeline.toml"

    def write(more: str = "") -> None:
        file.write_text(more + "".join(f'"{name}" = "{value}"\n' for name, value in given.items()))

    write()
    assert load(file, Installed(), {}).values is None
    assert load(file, Installed(), {ALLOW_VARIABLE: f"dir:{tmp_path}"}).values is not None
    write(f'secrets.allow.folders = ["{tmp_path}"]\n')
    assert load(file, Installed(), {}).values is not None
