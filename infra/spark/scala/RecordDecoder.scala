package org.apache.spark.sql.lk

import java.util.{Collections, LinkedHashMap, Map => JavaMap, UUID}

import scala.util.control.NonFatal

import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.classic.ExpressionUtils
import org.apache.spark.sql.types.{ObjectType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.Utils

/** One topic's decoder as one expression: in one pass where that is sure of a record, else by the plain decoder.
  *
  * The plain decoder is kept as the projections that Spark optimized, so a plan with this expression neither plans nor
  * compiles them again. Tasks get bytes, and all tasks of a process share one object. Each thread makes expressions of
  * its own from the bytes: some keep state.
  */
class RecordDecoder private (id: String, parts: Array[Byte]) extends Serializable {
  @transient private lazy val threads = ThreadLocal.withInitial[DecoderThread](() => new DecoderThread(parts))

  /** The decoded columns of a record: error, event time, `deleted` of a changelog, fields. */
  def decode(key: Array[Byte], value: Array[Byte], micros: Long, hasTime: Boolean, headers: ArrayData): InternalRow = {
    val thread = threads.get
    val good = if (hasTime && !RecordDecoder.isCopy(headers)) thread.inOnePass(key, value, micros) else null
    if (good != null) good else thread.plain(key, value, if (hasTime) micros else null, headers)
  }

  /** Whether one pass decodes a record; for tests. */
  def isSure(key: Array[Byte], value: Array[Byte], micros: Long): Boolean =
    threads.get.inOnePass(key, value, micros) != null

  private def readResolve(): AnyRef = Option(RecordDecoder.LOADED.putIfAbsent(id, this)).getOrElse(this)
}

object RecordDecoder {
  private val COPY = UTF8String.fromString("lk_origin") // core/decoding/redrive_headers.py
  private val KEPT = 256
  private val LOADED: JavaMap[String, RecordDecoder] = Collections.synchronizedMap(
    new LinkedHashMap[String, RecordDecoder](KEPT, 0.75f, true) {
      override def removeEldestEntry(eldest: JavaMap.Entry[String, RecordDecoder]): Boolean = size > KEPT
    })

  /** `declaration` of core/decoding/one_pass.py; `rules` and `plain` are select lists over a leaf of their input. */
  def make(declaration: String, rules: DataFrame, plain: DataFrame): RecordDecoder = {
    val parts = Utils.serialize(DecoderParts(declaration, stages(rules), stages(plain)))
    val decoder = new RecordDecoder(UUID.randomUUID.toString, parts)
    decoder.readResolve().asInstanceOf[RecordDecoder]
  }

  /** A decoder's result, a struct with the columns of `plain`. */
  def column(
      decoder: RecordDecoder, plain: DataFrame, key: Column, value: Column, timestamp: Column, headers: Column): Column = {
    val Seq(k, v, t, h) = Seq(key, value, timestamp, headers).map(ExpressionUtils.expression)
    val target = Literal.fromObject(decoder, ObjectType(classOf[RecordDecoder]))
    val time = Coalesce(Seq(t, Literal(0L, TimestampType))) // of a null, Invoke would make a null row
    val arguments = Seq(k, v, time, IsNotNull(t), h)
    ExpressionUtils.column(
      Invoke(target, "decode", plain.schema, arguments, propagateNull = false, returnNullable = false))
  }

  private def stages(frame: DataFrame): Seq[Seq[Expression]] = {
    def of(plan: LogicalPlan): Seq[Seq[Expression]] = plan match {
      case Project(columns, child) => of(child) :+ BindReferences.bindReferences(columns, child.output)
      case leaf if leaf.children.isEmpty => Nil
      case other => throw new IllegalArgumentException(s"not a projection: ${other.nodeName}")
    }
    of(frame.queryExecution.optimizedPlan)
  }

  private def isCopy(headers: ArrayData): Boolean = {
    if (headers == null) return false
    var n = 0
    while (n < headers.numElements()) {
      if (!headers.isNullAt(n) && COPY == headers.getStruct(n, 2).getUTF8String(0)) return true
      n += 1
    }
    false
  }
}

case class DecoderParts(declaration: String, rules: Seq[Seq[Expression]], plain: Seq[Seq[Expression]])

/** What decodes records in one thread. */
class DecoderThread(serialized: Array[Byte]) {
  private val parts: DecoderParts = Utils.deserialize(serialized, Thread.currentThread.getContextClassLoader)
  private val onePass = Option(parts.declaration).map(new OnePass(_)).orNull
  private val rules = parts.rules.map(projection)
  private var stages: Seq[UnsafeProjection] = Nil

  /** The columns of an event; null unless it certainly breaks no rule. */
  def inOnePass(key: Array[Byte], value: Array[Byte], micros: Long): InternalRow = {
    if (onePass == null) return null
    val row = onePass.event(key, value, micros)
    if (row == null || rules.isEmpty) return row
    val passed = projected(rules, row)
    var n = 0
    while (n < passed.numFields) { if (!passed.getBoolean(n)) return null; n += 1 }
    row
  }

  def plain(key: Array[Byte], value: Array[Byte], micros: Any, headers: ArrayData): InternalRow = {
    if (stages.isEmpty) stages = parts.plain.map(projection)
    val row = projected(stages, new GenericInternalRow(Array[Any](key, value, micros, headers))).copy()
    if (value != null && value.length > DecoderThread.LARGE) stages = Nil // their buffers never shrink
    row
  }

  /** Compiled, also where a task of few records interprets its other expressions: a thread keeps it. */
  private def projection(columns: Seq[Expression]): UnsafeProjection = {
    val made =
      try GenerateUnsafeProjection.generate(columns)
      catch { case NonFatal(_) => UnsafeProjection.create(columns) }
    made.initialize(0)
    made
  }

  private def projected(stages: Seq[UnsafeProjection], input: InternalRow): InternalRow = {
    var row = input
    stages.foreach(stage => row = stage(row))
    row
  }
}

object DecoderThread {
  private val LARGE = 1 << 20 // bytes
}
