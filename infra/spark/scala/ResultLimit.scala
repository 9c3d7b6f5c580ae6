package org.apache.spark.sql.lk

import org.apache.spark.api.java.JavaRDD
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.{SQLExecution, SparkPlan, UnaryExecNode}

/** The results are larger than what the driver may hold. Python looks for the name. */
class ResultTooLarge(most: Long) extends RuntimeException(s"ResultTooLarge: the results have more than $most bytes")

/** A task that counts the bytes of its results stops in time: one that returns all of them first needs heap for them. */
object ResultLimit {
  /** The same batches; raises ResultTooLarge as soon as they have more than `most` bytes together. */
  def apply(batches: Iterator[Array[Byte]], most: Long): Iterator[Array[Byte]] = {
    var size = 0L
    batches.map { batch =>
      size += batch.length
      if (size > most) throw new ResultTooLarge(most)
      batch
    }
  }

  /** The same for each partition. */
  def of(batches: JavaRDD[Array[Byte]], most: Long): JavaRDD[Array[Byte]] =
    batches.rdd.mapPartitions(ResultLimit(_, most)).toJavaRDD()

  /** The rows of a query, as Arrow batches, limited in each partition. */
  def collected(frame: Dataset[_], most: Long): Array[Array[Byte]] = {
    val execution = frame.queryExecution
    SQLExecution.withNewExecutionId(execution, Some("collected")) {
      frame.toArrowBatchRdd(LimitedRows(execution.executedPlan, most)).collect()
    }
  }
}

/** The same rows; raises ResultTooLarge as soon as those of a partition have more than `most` bytes together.
  *
  * An Arrow batch is made of thousands of rows before it has bytes that can be counted.
  */
case class LimitedRows(child: SparkPlan, most: Long) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output

  override protected def doExecute(): RDD[InternalRow] = {
    val limit = most // a task carries the number, not the plan
    child.execute().mapPartitions { rows =>
      var size = 0L
      rows.map { row =>
        row match { case counted: UnsafeRow => size += counted.getSizeInBytes; case _ => }
        if (size > limit) throw new ResultTooLarge(limit)
        row
      }
    }
  }

  override protected def withNewChildInternal(child: SparkPlan): LimitedRows = copy(child = child)
}
