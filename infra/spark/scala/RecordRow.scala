package org.apache.spark.sql.kafka010

import java.sql.Timestamp

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerRecord

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.catalyst.util.{DateTimeUtils, GenericArrayData}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** A record as a row with the columns of Spark's Kafka source; a value is read where a query asks for it. */
class RecordRow(topic: UTF8String, record: ConsumerRecord[Array[Byte], Array[Byte]]) extends BaseGenericInternalRow {
  override def numFields: Int = RecordRow.schema.size

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

  /** About the size of the row in memory. */
  def bytes: Long = {
    val ofHeaders = record.headers.asScala.map(h => RecordRow.FIXED + h.key.length + RecordRow.length(h.value)).sum
    RecordRow.FIXED + RecordRow.length(record.key) + RecordRow.length(record.value) + ofHeaders
  }

  /** Whether `lk redrive` sent the record. */
  def isCopy: Boolean = record.headers.lastHeader(RecordRow.COPY) != null

  private def micros: Long = DateTimeUtils.fromJavaTimestamp(new Timestamp(record.timestamp))

  private def headers: GenericArrayData =
    new GenericArrayData(record.headers.asScala.map(h => InternalRow(UTF8String.fromString(h.key), h.value)).toArray[Any])
}

object RecordRow {
  val schema: StructType = KafkaRecordToRowConverter.kafkaSchema(true)

  private val COPY = "lk_origin" // core/decoding/redrive_headers.py
  private val FIXED = 100L

  private def length(bytes: Array[Byte]): Long = if (bytes == null) 0 else bytes.length
}
