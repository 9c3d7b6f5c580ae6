package org.apache.spark.sql.kafka010 // Spark's parameters of consumers are private to it

import java.sql.Timestamp
import java.time.Duration
import java.util.{Collections, Iterator => JavaIterator, Map => JavaMap, Set => JavaSet}
import java.util.concurrent.TimeoutException

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{ConsumerRecord, KafkaConsumer, OffsetOutOfRangeException}
import org.apache.kafka.common.TopicPartition

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, GenericArrayData}
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
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = LogRecords.schema
  override def getTable(schema: StructType, parts: Array[Transform], options: JavaMap[String, String]): Table = LogTable
}

object LogTable extends Table with SupportsRead {
  override def name: String = "log"
  override def schema: StructType = LogRecords.schema
  override def capabilities: JavaSet[TableCapability] = Collections.singleton(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new LogScan(options)
}

class LogScan(options: CaseInsensitiveStringMap) extends Scan with Batch {
  private val spans = options.get("spans").linesIterator.map(LogSpan.parse).toSeq
  private val taskRecords = options.get("taskRecords").toLong
  private val kafka = options.asCaseSensitiveMap.asScala.toMap.collect {
    case (name, value) if name.startsWith(LogScan.KAFKA) => name.stripPrefix(LogScan.KAFKA) -> value
  }

  override def readSchema: StructType = LogRecords.schema
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

/** Reads one span from its first offset to its last; what transactions and compaction left out is no record.
  *
  * Fails when Kafka does not have the next offset, or gives nothing for as long as Spark's source waits.
  */
class LogReader(span: LogSpan, parameters: JavaMap[String, Object]) extends PartitionReader[InternalRow] {
  private val partition = new TopicPartition(span.topic, span.partition)
  private val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](parameters)
  private val row = new RecordRow(UTF8String.fromString(span.topic))
  private var polled: JavaIterator[ConsumerRecord[Array[Byte], Array[Byte]]] = Collections.emptyIterator

  consumer.assign(Collections.singleton(partition))
  consumer.seek(partition, span.start)

  override def next(): Boolean = {
    while (!polled.hasNext && position < span.end) poll()
    row.record = if (polled.hasNext) polled.next() else null
    row.record != null && row.record.offset < span.end
  }

  override def get(): InternalRow = row

  override def close(): Unit = consumer.close(Duration.ZERO)

  private def position: Long = consumer.position(partition)

  private def poll(): Unit = {
    val (before, deadline) = (position, System.nanoTime + LogReader.PATIENCE.toNanos)
    while (!polled.hasNext && position == before) {
      if (System.nanoTime > deadline)
        throw new TimeoutException(s"no record at offset $before of $partition in ${LogReader.PATIENCE.toSeconds} s")
      polled = consumer.poll(LogReader.SLICE).records(partition).iterator
      if (!polled.hasNext && position == before) requireMore(before)
    }
  }

  private def requireMore(offset: Long): Unit = {
    val end = consumer.endOffsets(Collections.singleton(partition)).get(partition)
    if (end <= offset) throw new OffsetOutOfRangeException(Collections.singletonMap(partition, offset))
  }
}

object LogReader {
  private val PATIENCE = Duration.ofMinutes(2) // as Spark's source by default
  private val SLICE = Duration.ofSeconds(5)
}

/** A record as a row, whose values are read where a query asks for them. */
class RecordRow(topic: UTF8String) extends BaseGenericInternalRow {
  var record: ConsumerRecord[Array[Byte], Array[Byte]] = _

  override def numFields: Int = LogRecords.schema.size

  override def isNullAt(column: Int): Boolean = column match {
    case 0 => record.key == null
    case 1 => record.value == null
    case 7 => !record.headers.iterator.hasNext
    case _ => false
  }

  override def getBinary(column: Int): Array[Byte] = if (column == 0) record.key else record.value
  override def getUTF8String(column: Int): UTF8String = topic
  override def getInt(column: Int): Int = if (column == 3) record.partition else record.timestampType.id
  override def getLong(column: Int): Long = if (column == 4) record.offset else micros

  override protected def genericGet(column: Int): Any = column match {
    case _ if isNullAt(column) => null
    case 0 | 1 => getBinary(column)
    case 2 => topic
    case 3 | 6 => getInt(column)
    case 4 | 5 => getLong(column)
    case 7 => headers
  }

  override def setNullAt(column: Int): Unit = update(column, null)
  override def update(column: Int, value: Any): Unit = throw new UnsupportedOperationException

  private def micros: Long = DateTimeUtils.fromJavaTimestamp(new Timestamp(record.timestamp))

  private def headers: GenericArrayData =
    new GenericArrayData(record.headers.asScala.map(h => InternalRow(UTF8String.fromString(h.key), h.value)).toArray[Any])
}
