package org.apache.spark.sql.kafka010

import org.apache.kafka.common.TopicPartition

import org.apache.spark.sql.connector.read.InputPartition

/** The offsets of one partition that an epoch reads: `start` is the first, `end` is behind the last. */
case class LogSpan(topic: String, partition: Int, start: Long, end: Long) extends InputPartition {
  def topicPartition: TopicPartition = new TopicPartition(topic, partition)

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
