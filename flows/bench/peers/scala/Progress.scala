package lk.peers

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.LongAdder

/** Prints four times a second how many records this process has decoded: milliseconds since 1970, then the count. */
object Progress {
  val records = new LongAdder

  def start(): Unit = {
    val thread = new Thread(() => while (true) { print(); Thread.sleep(250) }, "progress")
    thread.setDaemon(true)
    thread.start()
  }

  def print(): Unit = {
    System.out.println(s"${System.currentTimeMillis} ${records.sum}")
    System.out.flush()
  }
}
