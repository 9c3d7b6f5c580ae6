package org.apache.spark.sql.lk

import java.net.Socket

import py4j.{DefaultGatewayServerListener, GatewayServer, Py4JPythonClientPerThread, Py4JServerConnection}

/** Sends each answer to Python at once.
  *
  * py4j writes an answer in pieces of 8 KB. By TCP's default a piece waits until Python's kernel has acknowledged the one
  * before, which that delays by 40 ms: a fifth of the time from an event to its answer in Trino.
  */
object PythonSockets extends DefaultGatewayServerListener {
  @volatile private var server: Option[GatewayServer] = None

  /** For the connections of all Python threads from now on, and that of the caller. */
  def answerAtOnce(gateway: GatewayServer): Unit = synchronized {
    if (!server.contains(gateway)) gateway.addListener(this)
    server = Some(gateway)
    ofThisThread()
  }

  /** For the connection on which this thread of Java answers to Python: a callback opens one that has no listener. */
  def ofThisThread(): Unit = server.map(_.getCallbackClient).foreach {
    case client: Py4JPythonClientPerThread => Option(client.getPerThreadConnection).foreach(c => setNoDelay(c.getSocket))
    case _ =>
  }

  override def connectionStarted(connection: Py4JServerConnection): Unit = setNoDelay(connection.getSocket)

  private def setNoDelay(socket: Socket): Unit = if (!socket.isClosed) socket.setTcpNoDelay(true)
}
