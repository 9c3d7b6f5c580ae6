"""Moto's server with additions for MSK, EMR Serverless and S3.

`python -m tests.support.servers.aws_emulator -H HOST -p PORT` starts it.

Moto leaves an MSK cluster in state CREATING. It has no MSK configurations, SCRAM secrets or bootstrap brokers. It puts
a new EMR Serverless application in state STARTED, but terraform waits for CREATED. It ignores the conditions of bucket
policies, so a rule that denies requests without TLS would deny every request.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from urllib.parse import unquote

from moto.core.exceptions import JsonRESTError
from moto.emrserverless import models as emr
from moto.iam.access_control import PermissionResult
from moto.kafka.models import FakeKafkaCluster, KafkaBackend
from moto.kafka.responses import KafkaResponse
from moto.s3.models import FakeBucket
from moto.server import main

CONFIGURATIONS: dict[str, dict[str, Any]] = {}
SECRETS: dict[str, list[str]] = {}
VERSION = "K1"


class NotFound(JsonRESTError):
    """The error of AWS for a missing resource."""

    code = 404

    def __init__(self) -> None:
        super().__init__("NotFoundException", "not found")


class NoConfiguration(JsonRESTError):
    """The error of MSK for a missing configuration. Terraform matches this message."""

    def __init__(self) -> None:
        super().__init__("BadRequestException", "Configuration ARN does not exist")


def create_configuration(self: Any) -> str:
    arn = f"arn:aws:kafka:{self.region}:{self.current_account}:configuration/{self._get_param('name')}/1"
    CONFIGURATIONS[arn] = {
        "arn": arn,
        "name": self._get_param("name"),
        "kafkaVersions": self._get_param("kafkaVersions"),
        "state": "ACTIVE",
        "creationTime": "2026-01-01T00:00:00Z",
        "latestRevision": {"revision": 1, "creationTime": "2026-01-01T00:00:00Z"},
        "serverProperties": self._get_param("serverProperties"),
    }
    return _without_properties(arn)


def describe_configuration(self: Any) -> str:
    return _without_properties(_named(self, "configurations"))


def describe_configuration_revision(self: Any) -> str:
    configuration = _configuration(_named(self, "configurations").split("/revisions/")[0])
    return json.dumps(
        {**{key: configuration[key] for key in ("arn", "serverProperties", "creationTime")}, "revision": 1}
    )


def delete_configuration(self: Any) -> str:
    arn = _named(self, "configurations")
    CONFIGURATIONS.pop(arn, None)
    return json.dumps({"arn": arn, "state": "DELETING"})


def batch_associate_scram_secret(self: Any) -> str:
    arn = _named(self, "clusters").removesuffix("/scram-secrets")
    SECRETS.setdefault(arn, []).extend(self._get_param("secretArnList"))
    return json.dumps({"clusterArn": arn, "unprocessedScramSecrets": []})


def batch_disassociate_scram_secret(self: Any) -> str:
    arn = _named(self, "clusters").removesuffix("/scram-secrets")
    SECRETS.pop(arn, None)
    return json.dumps({"clusterArn": arn, "unprocessedScramSecrets": []})


def list_scram_secrets(self: Any) -> str:
    return json.dumps({"secretArnList": SECRETS.get(_named(self, "clusters").removesuffix("/scram-secrets"), [])})


def get_bootstrap_brokers(self: Any) -> str:
    return json.dumps({"bootstrapBrokerStringSaslScram": "b-1.emulated:9096,b-2.emulated:9096,b-3.emulated:9096"})


def _named(response: Any, kind: str) -> str:
    return unquote(response.parsed_url.path.split(f"/{kind}/")[-1])


def _configuration(arn: str) -> dict[str, Any]:
    if arn not in CONFIGURATIONS:
        raise NoConfiguration
    return CONFIGURATIONS[arn]


def _without_properties(arn: str) -> str:
    return json.dumps({key: value for key, value in _configuration(arn).items() if key != "serverProperties"})


def _active(self: Any, *args: Any, **more: Any) -> None:
    _made(self, *args, **more)
    self.state, self.current_version = "ACTIVE", VERSION


def _there(described: Any) -> Any:
    def described_if_there(self: Any, cluster_arn: str) -> Any:
        if cluster_arn not in self.clusters:
            raise NotFound
        return described(self, cluster_arn)

    return described_if_there


def _unnamed_paths() -> None:
    """Adds the paths of configurations, because moto serves only listed paths."""
    from moto.kafka import urls

    urls.url_paths |= {
        "{0}/v1/configurations$": KafkaResponse.dispatch,
        "{0}/v1/configurations/(?P<arn>.+)$": KafkaResponse.dispatch,
    }


def _unasked(self: Any, action: str, resource: str) -> PermissionResult:
    return PermissionResult.NEUTRAL


_made = FakeKafkaCluster.__init__
FakeKafkaCluster.__init__ = _active  # type: ignore[method-assign]
for _name in ("describe_cluster", "describe_cluster_v2"):
    setattr(KafkaBackend, _name, _there(getattr(KafkaBackend, _name)))
for _method in (
    create_configuration,
    describe_configuration,
    describe_configuration_revision,
    delete_configuration,
    batch_associate_scram_secret,
    batch_disassociate_scram_secret,
    list_scram_secrets,
    get_bootstrap_brokers,
):
    setattr(KafkaResponse, _method.__name__, _method)
emr.APPLICATION_STATUS = "CREATED"
FakeBucket.get_permission = _unasked  # type: ignore[method-assign]
_unnamed_paths()

if __name__ == "__main__":
    main(sys.argv[1:])
