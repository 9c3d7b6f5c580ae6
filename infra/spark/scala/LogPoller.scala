package org.apache.spark.sql.kafka010

import java.time.Duration
import java.util.{Map => JavaMap}
import java.util.concurrent.TimeoutException

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{ConsumerRecords, KafkaConsumer, OffsetOutOfRangeException}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.RetriableException

/** A consumer that reads spans. It only polls: each other question waits for the answer to the last fetch. */
class LogPoller(parameters: JavaMap[String, Object]) {
  private val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](parameters)
  private var open = Map.empty[TopicPartition, LogSpan]

  /** The spans whose last offset was not polled. */
  def unfinished: Iterable[LogSpan] = open.values

  def start(spans: Seq[LogSpan]): Unit = {
    open = spans.map(span => span.topicPartition -> span).toMap
    consumer.assign(open.keySet.asJava)
    spans.foreach(span => consumer.seek(span.topicPartition, span.start))
  }

  /** The next records, some perhaps behind the end of their span; none if no span has any more.
    *
    * Fails when Kafka does not have an offset, or gives nothing for as long as Spark's source waits: a broker may restart.
    */
  def poll(): ConsumerRecords[Array[Byte], Array[Byte]] = {
    var records = ConsumerRecords.empty[Array[Byte], Array[Byte]]
    var before = positions
    var deadline = System.nanoTime + LogPoller.PATIENCE.toNanos
    while (records.isEmpty && open.nonEmpty) {
      records = consumer.poll(LogPoller.SLICE)
      finish(records)
      if (positions != before) {
        before = positions
        deadline = System.nanoTime + LogPoller.PATIENCE.toNanos
      } else if (records.isEmpty && open.nonEmpty) {
        requireMore()
        if (System.nanoTime > deadline)
          throw new TimeoutException(s"no record of ${unfinished.mkString(", ")} in ${LogPoller.PATIENCE.toSeconds} s")
      }
    }
    records
  }

  /** Forgets the positions, and what was fetched ahead: the log may be another when the next spans are read. */
  def stop(): Unit = {
    open = Map.empty
    consumer.unsubscribe()
  }

  def close(): Unit = consumer.close(Duration.ZERO)

  private def finish(records: ConsumerRecords[Array[Byte], Array[Byte]]): Unit = {
    val (finished, others) = open.partition { case (partition, span) =>
      val polled = records.records(partition)
      (!polled.isEmpty && polled.get(polled.size - 1).offset >= span.end - 1) || position(partition).exists(_ >= span.end)
    }
    consumer.pause(finished.keySet.asJava)
    open = others
  }

  private def positions: Map[TopicPartition, Option[Long]] = open.map { case (partition, _) => partition -> position(partition) }

  /** None while the client makes sure of a new leader. */
  private def position(partition: TopicPartition): Option[Long] =
    ifAnswered(consumer.position(partition, Duration.ZERO))

  private def requireMore(): Unit =
    for (ends <- ifAnswered(consumer.endOffsets(open.keySet.asJava))) {
      val missing = open.keys.filter(partition => position(partition).exists(_ >= ends.get(partition)))
      if (missing.nonEmpty)
        throw new OffsetOutOfRangeException(missing.map(partition => partition -> ends.get(partition)).toMap.asJava)
    }

  private def ifAnswered[T](ask: => T): Option[T] =
    try Some(ask)
    catch { case _: RetriableException => None }
}

object LogPoller {
  private val PATIENCE = Duration.ofMinutes(2) // as Spark's source by default
  private val SLICE = Duration.ofSeconds(5)
}
