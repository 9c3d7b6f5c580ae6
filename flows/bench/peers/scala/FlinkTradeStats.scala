package lk.peers

import java.lang.{Long => JavaLong}
import java.time.Duration
import java.util.Properties

import org.apache.flink.api.common.eventtime.{SerializableTimestampAssigner, WatermarkStrategy}
import org.apache.flink.api.common.functions.AggregateFunction
import org.apache.flink.api.common.serialization.{AbstractDeserializationSchema, SerializationSchema}
import org.apache.flink.api.common.typeinfo.{TypeHint, TypeInformation, Types}
import org.apache.flink.api.java.functions.KeySelector
import org.apache.flink.api.java.tuple.{Tuple3, Tuple4}
import org.apache.flink.configuration.Configuration
import org.apache.flink.connector.base.DeliveryGuarantee
import org.apache.flink.connector.kafka.sink.{KafkaRecordSerializationSchema, KafkaSink}
import org.apache.flink.connector.kafka.source.KafkaSource
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows
import org.apache.flink.streaming.api.windowing.windows.TimeWindow
import org.apache.flink.util.Collector

/** trade_stats on Flink's DataStream API: exactly once, state on the heap, from offset 0 to the end of the log. */
object FlinkTradeStats {
  type Priced = Tuple3[String, JavaLong, JavaLong] // ticker, cents, event time
  type State = Tuple4[JavaLong, JavaLong, JavaLong, JavaLong] // trades, sum, least, most

  class Decode extends AbstractDeserializationSchema[Priced](TypeInformation.of(new TypeHint[Priced] {})) {
    override def deserialize(value: Array[Byte]): Priced = {
      val trade = Trade.read(value)
      Tuple3.of(trade.ticker, trade.cents, trade.event_time)
    }
  }

  class Statistics extends AggregateFunction[Priced, State, State] {
    override def createAccumulator(): State = Tuple4.of(0L, 0L, Long.MaxValue, Long.MinValue)
    override def add(trade: Priced, state: State): State = {
      val cents = trade.f1
      state.f0 = state.f0 + 1
      state.f1 = state.f1 + cents
      if (cents < state.f2) state.f2 = cents
      if (cents > state.f3) state.f3 = cents
      state
    }
    override def getResult(state: State): State = state
    override def merge(one: State, other: State): State =
      Tuple4.of(one.f0 + other.f0, one.f1 + other.f1, math.min(one.f2, other.f2), math.max(one.f3, other.f3))
  }

  class Lines extends ProcessWindowFunction[State, Array[Byte], String, TimeWindow] {
    override def process(
        ticker: String,
        context: ProcessWindowFunction[State, Array[Byte], String, TimeWindow]#Context,
        states: java.lang.Iterable[State],
        out: Collector[Array[Byte]]
    ): Unit = states.forEach { state =>
      val window = new Window
      window.trades = state.f0
      window.sum = state.f1
      window.least = state.f2
      window.most = state.f3
      out.collect(window.line(ticker, context.window.getStart))
    }
  }

  class Ticker extends KeySelector[Priced, String] {
    override def getKey(trade: Priced): String = trade.f0
  }

  class EventTime extends SerializableTimestampAssigner[Priced] {
    override def extractTimestamp(trade: Priced, appended: Long): Long = trade.f2
  }

  class Bytes extends SerializationSchema[Array[Byte]] {
    override def serialize(line: Array[Byte]): Array[Byte] = line
  }

  def main(arguments: Array[String]): Unit = {
    val Array(brokers, input, output, name, folder) = arguments
    val environment = StreamExecutionEnvironment.createLocalEnvironment(2, configuration(folder))
    val late = WatermarkStrategy.forBoundedOutOfOrderness[Priced](Duration.ofSeconds(3601))
    val lines = environment
      .fromSource(source(brokers, input, name), late.withTimestampAssigner(new EventTime), "trades")
      .keyBy(new Ticker, Types.STRING)
      .window(SlidingEventTimeWindows.of(Duration.ofSeconds(5), Duration.ofSeconds(1)))
      .aggregate(new Statistics, new Lines)
    lines.sinkTo(sink(brokers, output, name))
    Progress.start()
    environment.execute(name)
    Progress.print()
    System.exit(0)
  }

  private def configuration(folder: String): Configuration = {
    val conf = new Configuration
    Seq(
      "state.backend.type" -> "hashmap",
      "execution.checkpointing.storage" -> "filesystem",
      "execution.checkpointing.dir" -> s"file://$folder",
      "execution.checkpointing.interval" -> "1s",
      "execution.checkpointing.mode" -> "EXACTLY_ONCE",
      "pipeline.object-reuse" -> "true",
      "taskmanager.memory.managed.size" -> "256m",
      "taskmanager.memory.network.min" -> "64m",
      "taskmanager.memory.network.max" -> "64m"
    ).foreach { case (key, value) => conf.setString(key, value) }
    conf
  }

  private def source(brokers: String, topic: String, group: String): KafkaSource[Priced] =
    KafkaSource
      .builder[Priced]()
      .setBootstrapServers(brokers)
      .setTopics(topic)
      .setGroupId(group)
      .setStartingOffsets(OffsetsInitializer.earliest)
      .setBounded(OffsetsInitializer.latest)
      .setProperty("max.poll.records", "5000")
      .setValueOnlyDeserializer(new Decode)
      .build()

  private def sink(brokers: String, topic: String, name: String): KafkaSink[Array[Byte]] = {
    val producer = new Properties
    producer.put("transaction.timeout.ms", "600000")
    val value = KafkaRecordSerializationSchema.builder[Array[Byte]]()
    KafkaSink
      .builder[Array[Byte]]()
      .setBootstrapServers(brokers)
      .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
      .setTransactionalIdPrefix(name)
      .setKafkaProducerConfig(producer)
      .setRecordSerializer(value.setTopic(topic).setValueSerializationSchema(new Bytes).build())
      .build()
  }
}
