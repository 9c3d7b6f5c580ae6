package lk.peers

import java.nio.ByteBuffer
import java.time.Duration
import java.util.Properties

import org.apache.kafka.common.serialization.{Deserializer, Serde, Serdes, Serializer}
import org.apache.kafka.common.utils.Bytes
import org.apache.kafka.streams.kstream.{Consumed, Materialized, Produced, TimeWindows, Windowed}
import org.apache.kafka.streams.state.WindowStore
import org.apache.kafka.streams.{KafkaStreams, KeyValue, StreamsBuilder}

/** trade_stats on Kafka Streams: exactly once, state in RocksDB. It reads until it is stopped. */
object StreamsTradeStats {
  private val size = 5000L

  def main(arguments: Array[String]): Unit = {
    val Array(brokers, input, output, name, folder) = arguments
    val streams = new KafkaStreams(topology(input, output).build(), properties(brokers, name, folder))
    streams.setUncaughtExceptionHandler { error =>
      error.printStackTrace()
      Runtime.getRuntime.halt(3)
      null
    }
    Progress.start()
    Runtime.getRuntime.addShutdownHook(new Thread(() => streams.close()))
    streams.start()
  }

  private def topology(input: String, output: String): StreamsBuilder = {
    val builder = new StreamsBuilder
    val trades = Serdes.serdeFrom(unwritten, decode)
    val windows = Serdes.serdeFrom(store, restore)
    builder
      .stream(input, Consumed.`with`(Serdes.String, trades).withTimestampExtractor((record, _) => timeOf(record.value)))
      .groupByKey()
      .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMillis(size), Duration.ofHours(2)).advanceBy(Duration.ofSeconds(1)))
      .aggregate[Window](() => new Window, (_: String, trade: Trade, window: Window) => window.add(trade.cents), state(windows))
      .toStream()
      .map[String, Array[Byte]]((key: Windowed[String], window: Window) =>
        KeyValue.pair(key.key, window.line(key.key, key.window.start))
      )
      .to(output, Produced.`with`(Serdes.String, Serdes.ByteArray))
    builder
  }

  private def state(windows: Serde[Window]): Materialized[String, Window, WindowStore[Bytes, Array[Byte]]] =
    Materialized
      .as[String, Window, WindowStore[Bytes, Array[Byte]]]("windows")
      .withKeySerde(Serdes.String)
      .withValueSerde(windows)
      .withRetention(Duration.ofHours(3))

  private def timeOf(value: Any): Long = value.asInstanceOf[Trade].event_time

  private val unwritten: Serializer[Trade] = (_: String, _: Trade) => throw new UnsupportedOperationException

  private val decode: Deserializer[Trade] = (_: String, value: Array[Byte]) => Trade.read(value)

  private val store: Serializer[Window] = (_: String, window: Window) =>
    if (window == null) null
    else
      ByteBuffer.allocate(32).putLong(window.trades).putLong(window.sum).putLong(window.least).putLong(window.most).array

  private val restore: Deserializer[Window] = (_: String, value: Array[Byte]) =>
    if (value == null) null
    else {
      val buffer = ByteBuffer.wrap(value)
      val window = new Window
      window.trades = buffer.getLong
      window.sum = buffer.getLong
      window.least = buffer.getLong
      window.most = buffer.getLong
      window
    }

  private def properties(brokers: String, name: String, folder: String): Properties = {
    val properties = new Properties
    Seq(
      "application.id" -> name,
      "bootstrap.servers" -> brokers,
      "state.dir" -> folder,
      "processing.guarantee" -> "exactly_once_v2",
      "commit.interval.ms" -> "1000",
      "statestore.cache.max.bytes" -> "104857600",
      "num.stream.threads" -> "2",
      "auto.offset.reset" -> "earliest",
      "replication.factor" -> "1",
      "topic.message.timestamp.after.max.ms" -> "9223372036854775807",
      "windowstore.changelog.additional.retention.ms" -> "864000000",
      "consumer.max.poll.records" -> "5000"
    ).foreach { case (key, value) => properties.put(key, value) }
    properties
  }
}
