package org.apache.spark.sql.lk

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.util.{Collections, LinkedHashMap, List => JavaList, Map => JavaMap, Properties, UUID}

import scala.jdk.CollectionConverters._

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.kafka010.{LogRecords, LogSpan, RecordRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.Utils

/** Rows that the running task put there under a name, as the leaf of a plan. */
class TaskRows(context: SparkContext, name: String) extends RDD[InternalRow](context, Nil) {
  override def getPartitions: Array[Partition] = Array(SinglePartition)
  override def compute(partition: Partition, task: TaskContext): Iterator[InternalRow] = TaskRows.current.get()(name).iterator
}

object TaskRows {
  private[lk] val current = new ThreadLocal[Map[String, Seq[InternalRow]]]
}

case object SinglePartition extends Partition { override val index = 0 }

/** A plan of one partition; the partition is kept, as only a driver can ask the plan for it. */
case class Plan[T](rdd: RDD[T], partition: Partition) {
  def rows(task: TaskContext): Iterator[T] = rdd.iterator(partition, task)
}

object Plan {
  def apply[T](rdd: RDD[T]): Plan[T] = {
    require(rdd.partitions.length == 1, s"a plan of ${rdd.partitions.length} partitions")
    resolve(rdd)
    Plan(rdd, rdd.partitions.head)
  }

  /** Computes the parents of every step here, as a job would: a task cannot. */
  private def resolve(rdd: RDD[_]): Unit = rdd.dependencies.foreach(dependency => resolve(dependency.rdd))
}

/** The plans of one topic: its records are decoded once, and every result is computed from the decoded rows. */
case class TopicPlans(topic: String, decode: Plan[InternalRow], results: Seq[Plan[Array[Byte]]])

/** Reads a small epoch and computes all results of its topics in one task, with plans that were made before.
  *
  * Tasks get the plans as a broadcast: an executor reads them once, and keeps them.
  */
class EpochPlans private (
    id: String, topics: Seq[TopicPlans], log: LogRecords, plans: Broadcast[Array[Byte]], context: SparkContext) {

  /** The results of the topics in `spans`, as `EpochTask` writes them; of result `only` of a topic, unless negative.
    *
    * A span is a line "topic partition start end". Empty when the epoch does not fit: see LogRecords; or when its results
    * have more than `most` bytes, which a view with many windows or a join makes of few records.
    */
  def run(spans: String, only: Int, largest: Long, most: Long): Array[Byte] = {
    PythonSockets.ofThisThread()
    val read = spans.linesIterator.map(LogSpan.parse).toSeq
    val weights = topics.map(plan => plan.topic -> plan.results.size.toLong).toMap
    val task = new EpochTask(context, id, plans, log, read, weights, only, largest, most)
    var results: Array[Byte] = null
    // As SparkContext.runJob does, without its search for what the function refers to: a tenth of a small epoch.
    context.dagScheduler.runJob[Array[Byte], Array[Byte]](
      task, EpochPlans.first, Seq(0), context.getCallSite(), (_, result) => results = result, properties(read))
    results
  }

  /** Tasks of a job without a SQL execution see the session's settings only as local properties. */
  private def properties(spans: Seq[LogSpan]): Properties = {
    val properties = Utils.cloneProperties(context.localProperties.get)
    properties.setProperty("spark.sql.session.timeZone", "UTC")
    // For few rows, to generate and look up code costs more than to interpret.
    if (spans.map(span => span.end - span.start).sum <= EpochPlans.FEW)
      properties.setProperty("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    properties
  }
}

object EpochPlans {
  private val KEPT = 16
  private val FEW = 2000L
  private val first: (TaskContext, Iterator[Array[Byte]]) => Array[Byte] = (_, results) => results.next()
  private val LOADED: JavaMap[String, Seq[TopicPlans]] = Collections.synchronizedMap(
    new LinkedHashMap[String, Seq[TopicPlans]](KEPT, 0.75f, true) {
      override def removeEldestEntry(eldest: JavaMap.Entry[String, Seq[TopicPlans]]): Boolean = size > KEPT
    })

  /** The records of a topic of the epoch, with the columns of Kafka's source. */
  def records(session: SparkSession, topic: String): DataFrame = leaf(session, recordsOf(topic), RecordRow.schema)

  /** The decoded rows of a topic of the epoch. */
  def events(session: SparkSession, topic: String, schema: StructType): DataFrame = leaf(session, eventsOf(topic), schema)

  /** `events` is a query over `records`; the results are Arrow batches of queries over `events`. */
  def topic(name: String, events: DataFrame, results: JavaList[JavaRDD[Array[Byte]]]): TopicPlans =
    TopicPlans(name, Plan(events.queryExecution.toRdd), results.asScala.map(result => Plan(result.rdd)).toSeq)

  /** `options` are Kafka's, for consumers of this group. */
  def make(
      session: SparkSession, topics: JavaList[TopicPlans], options: JavaMap[String, String], group: String): EpochPlans = {
    val (id, context) = (UUID.randomUUID.toString, session.sparkContext)
    val plans = topics.asScala.toSeq
    new EpochPlans(id, plans, new LogRecords(id, options, group), context.broadcast(Utils.serialize(plans)), context)
  }

  private[lk] def recordsOf(topic: String): String = s"records of $topic"
  private[lk] def eventsOf(topic: String): String = s"events of $topic"

  private[lk] def loaded(id: String, plans: Broadcast[Array[Byte]]): Seq[TopicPlans] =
    LOADED.computeIfAbsent(id, _ => Utils.deserialize[Seq[TopicPlans]](plans.value, Utils.getContextOrSparkClassLoader))

  private def leaf(session: SparkSession, name: String, schema: StructType): DataFrame =
    session.internalCreateDataFrame(new TaskRows(session.sparkContext, name), schema).coalesce(1)
}

/** One epoch, as a job of one task. */
class EpochTask(
    context: SparkContext, id: String, plans: Broadcast[Array[Byte]], log: LogRecords, spans: Seq[LogSpan],
    weights: Map[String, Long], only: Int, largest: Long, most: Long)
    extends RDD[Array[Byte]](context, Nil) {

  override def getPartitions: Array[Partition] = Array(SinglePartition)

  override def compute(partition: Partition, task: TaskContext): Iterator[Array[Byte]] = {
    val records = log.read(spans, weights, largest, most)
    try Iterator.single(records.map(results(_, task)).getOrElse(Array.emptyByteArray))
    catch { case _: ResultTooLarge => Iterator.single(Array.emptyByteArray) }
  }

  /** For each result, in order: the number of its Arrow batches, then the length and the bytes of each. */
  private def results(records: Map[String, Seq[InternalRow]], task: TaskContext): Array[Byte] = {
    val all = EpochPlans.loaded(id, plans)
    all.synchronized { // a task of a stopped query may still run, and the plans are objects of both
      val bytes = new ByteArrayOutputStream
      val out = new DataOutputStream(bytes)
      try {
        for (plan <- all; rows <- records.get(plan.topic)) {
          TaskRows.current.set(Map(EpochPlans.recordsOf(plan.topic) -> rows))
          val events = plan.decode.rows(task).map(_.copy()).toSeq
          TaskRows.current.set(Map(EpochPlans.eventsOf(plan.topic) -> events))
          val chosen = if (only < 0) plan.results else Seq(plan.results(only))
          chosen.foreach(result => write(ResultLimit(result.rows(task), most - bytes.size).toSeq, out))
        }
      } finally TaskRows.current.remove()
      bytes.toByteArray
    }
  }

  private def write(batches: Seq[Array[Byte]], out: DataOutputStream): Unit = {
    out.writeInt(batches.size)
    batches.foreach { batch =>
      out.writeInt(batch.length)
      out.write(batch)
    }
  }
}
