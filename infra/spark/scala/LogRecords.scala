package org.apache.spark.sql.kafka010 // Spark's parameters of consumers are private to it

import java.util.{LinkedHashMap, Map => JavaMap}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.consumer.ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

/** Kafka did not give the records of a span. */
class LogNotRead(span: LogSpan, cause: Throwable) extends RuntimeException(s"LogNotRead: $span: $cause", cause)

/** Reads small ranges of the log. An executor keeps one consumer under `id`, from epoch to epoch. */
class LogRecords(id: String, options: JavaMap[String, String], group: String) extends Serializable {
  @transient private lazy val parameters =
    KafkaSourceProvider.kafkaParamsForExecutors(options.asScala.toMap + LogRecords.SHORT_WAIT, group)

  /** The records of each topic. None as soon as one is a redriven copy, or larger than `largest` bytes, or as soon as
    * the bytes of all of them, weighted by topic, are more than `most`. Raises LogNotRead.
    */
  def read(
      spans: Seq[LogSpan], weights: Map[String, Long], largest: Long, most: Long): Option[Map[String, Seq[InternalRow]]] = {
    val poller = LogRecords.take(id).getOrElse(new LogPoller(parameters))
    try {
      poller.start(spans)
      val rows = polled(poller, spans, weights, largest, most)
      poller.stop()
      LogRecords.keep(id, poller)
      rows
    } catch {
      case NonFatal(e) =>
        poller.close()
        throw new LogNotRead(poller.unfinished.headOption.getOrElse(spans.head), e)
    }
  }

  private def polled(
      poller: LogPoller, spans: Seq[LogSpan], weights: Map[String, Long], largest: Long, most: Long)
      : Option[Map[String, Seq[InternalRow]]] = {
    val topics = weights.keys.map(topic => topic -> UTF8String.fromString(topic)).toMap
    val read = spans.map(span => span.topicPartition -> (span, ArrayBuffer.empty[InternalRow])).toMap
    var left = most
    while (poller.unfinished.nonEmpty) {
      val records = poller.poll()
      for (partition <- records.partitions.asScala; record <- records.records(partition).asScala) {
        val (span, rows) = read(partition)
        if (record.offset < span.end) {
          val row = new RecordRow(topics(span.topic), record)
          left -= row.bytes * weights(span.topic)
          if (row.bytes > largest || left < 0 || row.isCopy) return None
          rows += row
        }
      }
    }
    Some(spans.groupMap(_.topic)(span => read(span.topicPartition)._2).map { case (topic, parts) => topic -> parts.flatten })
  }
}

object LogRecords {
  private val KEPT = 16
  // The records are there. With Kafka's half a second, the next epoch would wait for the fetch that the last one left.
  private val SHORT_WAIT = FETCH_MAX_WAIT_MS_CONFIG -> "10"
  private val kept = new LinkedHashMap[String, LogPoller]

  private def take(id: String): Option[LogPoller] = kept.synchronized(Option(kept.remove(id)))

  private def keep(id: String, poller: LogPoller): Unit = kept.synchronized {
    Option(kept.put(id, poller)).foreach(_.close())
    while (kept.size > KEPT) kept.remove(kept.keySet.iterator.next()).close()
  }
}
