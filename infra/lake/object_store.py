"""The configuration of an object store for each of its clients: Spark, delta-rs, Arrow and Trino.

No setting holds credentials: each client takes those of AWS's default chain (environment, profile, role).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pyarrow import fs

from core.errors import LkError, Refused, TryAgain
from infra.library_errors import first_line
from infra.settings import Settings

SCHEME = "s3a://"
_ATTEMPTS = 10
_FIRST_ATTEMPTS = 3  # of the first request of a process, so that an unreachable store is reported soon
_DENIED = ("ACCESS_DENIED", "INVALID_ACCESS_KEY", "SIGNATURE", "HTTP status 403", "code 403")
_ABSENT = ("NO_SUCH_BUCKET", "HTTP status 404", "code 404")


@dataclass(frozen=True)
class Store:
    """The endpoint (None: AWS) and the region of a store."""

    endpoint: str | None
    region: str | None

    @property
    def is_plain(self) -> bool:
        """Whether its endpoint has no TLS."""
        return bool(self.endpoint and self.endpoint.startswith("http:"))


_STORES: dict[str, Store] = {}  # by bucket, from the settings that name it


def is_object(place: str) -> bool:
    """Whether a path is in an object store."""
    return place.startswith(SCHEME)


def is_used(settings: Settings) -> bool:
    """Whether the lake or the checkpoints are in an object store."""
    return any(map(is_object, (settings.lake_root, settings.checkpoint_root)))


def register_stores(settings: Settings) -> None:
    """Registers the stores of the buckets that these settings name, for this process."""
    for root in filter(is_object, (settings.lake_root, settings.checkpoint_root)):
        _STORES[_bucket(root)] = _store(settings)


def spark_conf(settings: Settings) -> dict[str, str]:
    """Spark's configuration of the store; empty when none is used."""
    if not is_used(settings):
        return {}
    store = _store(settings)
    values = {
        "aws.credentials.provider": "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
        # The other stream type caches the metadata of an object, and an epoch replaces its input files.
        "input.stream.type": "classic",
        "buffer.dir": str(settings.run_dir / "spark" / "s3a"),
        "create.conditional.enabled": "true",
        "connection.ssl.enabled": str(not store.is_plain).lower(),
    }
    if store.endpoint:
        values |= {"endpoint": store.endpoint, "path.style.access": "true"}
    if store.region:
        values["endpoint.region"] = store.region
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in values.items()}


def delta_options(path: str) -> dict[str, str]:
    """Storage options of delta-rs for a table; a commit is a conditional put."""
    if not is_object(path):
        return {}
    store = _checked(_bucket(path))
    options = {"AWS_CONDITIONAL_PUT": "etag", "AWS_ALLOW_HTTP": str(store.is_plain).lower()}
    options |= {"AWS_ENDPOINT_URL": store.endpoint} if store.endpoint else {}
    return options | ({"AWS_REGION": store.region} if store.region else {})


def trino_catalog(settings: Settings, metastore: str) -> Mapping[str, object]:
    """Properties of a Trino catalog whose tables, and whose ``metastore`` folder, are in the store."""
    store = _store(settings)
    properties = {
        "fs.native-s3.enabled": "true",
        "hive.metastore.catalog.dir": f"{uri(settings.lake_root)}/{metastore}",
    }
    properties |= {"s3.endpoint": store.endpoint, "s3.path-style-access": "true"} if store.endpoint else {}
    return properties | ({"s3.region": store.region} if store.region else {})


def uri(place: str) -> str:
    """The path with the scheme s3, which every client but Spark uses."""
    return place.replace(SCHEME, "s3://", 1) if is_object(place) else place


def filesystem(place: str) -> tuple[fs.FileSystem, str]:
    """Arrow's file system of the store, and the path in it; errors as ``_check``."""
    return _arrow(_checked(_bucket(place))), place.removeprefix(SCHEME)


def _checked(bucket: str) -> Store:
    store = _STORES.get(bucket, Store(None, None))
    _check(bucket, store)
    return store


@lru_cache
def _check(bucket: str, store: Store) -> None:
    """Runs once per process. Raises Refused without the bucket or the right to it, TryAgain without a response."""
    where = f"{SCHEME}{bucket}, {store.endpoint or 'AWS'}"
    try:
        info = _arrow(store, _FIRST_ATTEMPTS).get_file_info(bucket)
    except OSError as e:
        raise _failed(str(e), where) from None
    if info.type == fs.FileType.NotFound:
        raise _no_bucket(where)


@lru_cache
def _arrow(store: Store, attempts: int = _ATTEMPTS) -> fs.S3FileSystem:
    options = {"endpoint_override": store.endpoint} if store.endpoint else {}
    options |= {"region": store.region} if store.region else {}
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=attempts)
    # Else a file of some bytes is a multipart upload: three requests.
    return fs.S3FileSystem(**options, retry_strategy=retries, allow_delayed_open=True)


def _failed(text: str, where: str) -> LkError:
    if any(word in text for word in _ABSENT):
        return _no_bucket(where)
    if any(word in text for word in _DENIED):
        return Refused(
            "the object store refuses our credentials, or there are none",
            where=where,
            fix="set AWS credentials (environment, profile, role) with the rights to list, read, write and delete",
        )
    return TryAgain(
        f"the object store does not answer: {first_line(text)}",
        where=where,
        fix="start it, or correct s3_endpoint (LK_S3_ENDPOINT)",
    )


def _no_bucket(where: str) -> Refused:
    return Refused("the bucket does not exist", where=where, fix="create it, or correct lake and checkpoints (LK_LAKE)")


def _store(settings: Settings) -> Store:
    """A store other than AWS accepts any region, but signing needs one."""
    return Store(settings.s3_endpoint, settings.s3_region or ("us-east-1" if settings.s3_endpoint else None))


def _bucket(place: str) -> str:
    return place.removeprefix(SCHEME).split("/", 1)[0]
