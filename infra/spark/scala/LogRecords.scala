package org.apache.spark.sql.kafka010 // Spark's reader of a range of offsets is private to it

import java.util.{Map => JavaMap}

import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

import org.apache.kafka.common.TopicPartition

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** The offsets of one partition that an epoch reads: `start` is the first, `end` is behind the last. */
case class LogSpan(topic: String, partition: Int, start: Long, end: Long) extends InputPartition {

  /** The same offsets as spans of about equal size, of at most `records` offsets each. */
  def parts(records: Long): Seq[LogSpan] = {
    val count = (end - start + records - 1) / records
    val bounds = (0L to count).map(n => start + (end - start) / count * n + (end - start) % count * n / count)
    bounds.zip(bounds.tail).map { case (first, behind) => copy(start = first, end = behind) }
  }
}

object LogSpan {
  /** The span of a line "topic partition start end". */
  def parse(line: String): LogSpan = {
    val Array(topic, partition, start, end) = line.split(' ')
    LogSpan(topic, partition.toInt, start.toLong, end.toLong)
  }
}

/** Kafka did not give the records of a span. */
class LogNotRead(span: LogSpan, cause: Throwable) extends RuntimeException(s"LogNotRead: $span: $cause", cause)

/** Reads small ranges of the log as Spark's source does, with the same consumers from epoch to epoch. */
class LogRecords(options: JavaMap[String, String], group: String) extends Serializable {
  @transient private lazy val parameters = {
    import scala.jdk.CollectionConverters._
    KafkaSourceProvider.kafkaParamsForExecutors(options.asScala.toMap, group)
  }

  /** The records of each topic. None as soon as one is a redriven copy, or larger than `largest` bytes, or as soon as
    * the bytes of all of them, weighted by topic, are more than `most`. Raises LogNotRead.
    */
  def read(
      spans: Seq[LogSpan], weights: Map[String, Long], largest: Long, most: Long): Option[Map[String, Seq[InternalRow]]] = {
    val rows = spans.map(_.topic).distinct.map(_ -> ArrayBuffer.empty[InternalRow]).toMap
    var left = most
    spans.foreach { span =>
      val reader = new KafkaBatchPartitionReader(
        KafkaOffsetRange(new TopicPartition(span.topic, span.partition), span.start, span.end, None),
        parameters, LogRecords.PATIENCE, true, true)
      try {
        while (next(reader, span)) {
          val row = reader.get()
          left -= row.getSizeInBytes * weights(span.topic)
          if (row.getSizeInBytes > largest || left < 0 || LogRecords.isCopy(row)) return None
          rows(span.topic) += row.copy()
        }
      } finally reader.close()
    }
    Some(rows.map { case (topic, records) => topic -> records.toSeq })
  }

  private def next(reader: KafkaBatchPartitionReader, span: LogSpan): Boolean =
    try reader.next()
    catch { case NonFatal(e) => throw new LogNotRead(span, e) }
}

object LogRecords {
  private val PATIENCE = 120000L // milliseconds, as Spark's source by default
  private val HEADERS = 7
  private val COPY = UTF8String.fromString("lk_origin") // core/decoding/redrive_headers.py

  /** The columns of a record. */
  val schema: StructType = KafkaRecordToRowConverter.kafkaSchema(true)

  private def isCopy(row: InternalRow): Boolean = {
    if (row.isNullAt(HEADERS)) return false
    val headers = row.getArray(HEADERS)
    (0 until headers.numElements()).exists(n => !headers.isNullAt(n) && COPY == headers.getStruct(n, 2).getUTF8String(0))
  }
}
