"""A failed record is named by its number, though the records of a batch share one callback."""

from confluent_kafka import Producer

from infra.kafka.delivery_reports import Batch, DeliveryAccount
from infra.kafka.input_files import OutgoingRecord

SENT = [
    OutgoingRecord(b"k", b"one"),
    OutgoingRecord(None, b"two"),
    OutgoingRecord(b"k", b"one"),
    OutgoingRecord(b"k", None),
    OutgoingRecord(b"k", b""),
    OutgoingRecord(b"", b""),
]


def test_every_failed_record_of_a_batch_is_counted_by_its_own_number() -> None:
    account = DeliveryAccount()
    batch = Batch(account, range(11, 17), SENT)
    nobody_listens = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 200, "linger.ms": 5, "log_level": 0}
    producer = Producer(nobody_listens)
    for record in SENT:
        producer.produce("t", record.value, record.key, -1, batch.report)
    assert producer.flush(20) == 0
    assert account.failed == 6
    assert account.acknowledged == 0
    assert sorted(failure.number for failure in account.failures) == [11, 12, 13, 14, 15, 16]
    assert {failure.reason for failure in account.failures} == {"Kafka did not answer within 60 s; see `lk status`"}
