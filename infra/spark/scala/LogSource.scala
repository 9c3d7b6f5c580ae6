package org.apache.spark.sql.kafka010 // Spark's parameters of consumers are private to it

import java.util.{Collections, Iterator => JavaIterator, Map => JavaMap, Set => JavaSet}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerRecord

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String

/** A data source of exact ranges of offsets. Its rows are those of Spark's Kafka source, with headers.
  *
  * Spark's own source asks the broker for the first and the last offset after each poll, and makes each row from a row of
  * objects. This one only polls, and its rows are the records.
  *
  * Options: `spans`, lines of "topic partition start end"; `taskRecords`, the most that a task reads; and Kafka's.
  */
class LogSource extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = RecordRow.schema
  override def getTable(schema: StructType, parts: Array[Transform], options: JavaMap[String, String]): Table = LogTable
}

object LogTable extends Table with SupportsRead {
  override def name: String = "log"
  override def schema: StructType = RecordRow.schema
  override def capabilities: JavaSet[TableCapability] = Collections.singleton(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new LogScan(options)
}

class LogScan(options: CaseInsensitiveStringMap) extends Scan with Batch {
  private val spans = options.get("spans").linesIterator.map(LogSpan.parse).toSeq
  private val taskRecords = options.get("taskRecords").toLong
  private val kafka = options.asCaseSensitiveMap.asScala.toMap.collect {
    case (name, value) if name.startsWith(LogScan.KAFKA) => name.stripPrefix(LogScan.KAFKA) -> value
  }

  override def readSchema: StructType = RecordRow.schema
  override def description: String = s"log ${spans.mkString(", ")}"
  override def toBatch: Batch = this
  override def planInputPartitions: Array[InputPartition] = spans.flatMap(_.parts(taskRecords)).toArray
  override def createReaderFactory: PartitionReaderFactory =
    new LogReaderFactory(KafkaSourceProvider.kafkaParamsForExecutors(kafka, LogScan.GROUP))
}

object LogScan {
  private val KAFKA = "kafka."
  private val GROUP = "lk-log" // nothing is committed to it
}

class LogReaderFactory(parameters: JavaMap[String, Object]) extends PartitionReaderFactory {
  override def createReader(span: InputPartition): PartitionReader[InternalRow] =
    new LogReader(span.asInstanceOf[LogSpan], parameters)
}

/** Reads one span from its first offset to its last; what transactions and compaction left out is no record. */
class LogReader(span: LogSpan, parameters: JavaMap[String, Object]) extends PartitionReader[InternalRow] {
  private val poller = new LogPoller(parameters)
  private val topic = UTF8String.fromString(span.topic)
  private var polled: JavaIterator[ConsumerRecord[Array[Byte], Array[Byte]]] = Collections.emptyIterator
  private var record: ConsumerRecord[Array[Byte], Array[Byte]] = _

  poller.start(Seq(span))

  override def next(): Boolean = {
    while (!polled.hasNext && poller.unfinished.nonEmpty) polled = poller.poll().iterator
    record = if (polled.hasNext) polled.next() else null
    record != null && record.offset < span.end
  }

  override def get(): InternalRow = new RecordRow(topic, record)

  override def close(): Unit = poller.close()
}
