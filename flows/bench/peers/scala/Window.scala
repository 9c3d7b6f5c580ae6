package lk.peers

import java.nio.charset.StandardCharsets.UTF_8

/** Count, sum, smallest and largest price of a window, in cents. */
final class Window extends java.io.Serializable {
  var trades = 0L
  var sum = 0L
  var least = Long.MaxValue
  var most = Long.MinValue

  def add(cents: Long): Window = {
    trades += 1
    sum += cents
    if (cents < least) least = cents
    if (cents > most) most = cents
    this
  }

  def merge(other: Window): Window = {
    trades += other.trades
    sum += other.sum
    least = math.min(least, other.least)
    most = math.max(most, other.most)
    this
  }

  /** One record of the output topic: fields separated by commas; `start` is in milliseconds. */
  def line(ticker: String, start: Long): Array[Byte] = s"$ticker,$start,$trades,$sum,$least,$most".getBytes(UTF_8)
}
