package lk.peers

import java.math.BigDecimal

import com.fasterxml.jackson.annotation.JsonIgnoreProperties
import com.fasterxml.jackson.databind.{ObjectMapper, ObjectReader}

import scala.beans.BeanProperty

/** A trade as Jackson reads it from a record. */
@JsonIgnoreProperties(ignoreUnknown = true)
class Trade {
  @BeanProperty var `type`: String = _
  @BeanProperty var ticker: String = _
  @BeanProperty var price: BigDecimal = _
  @BeanProperty var size: Long = _
  @BeanProperty var event_time: Long = _
  @BeanProperty var id: String = _

  def cents: Long = price.movePointRight(2).longValueExact
}

object Trade {
  private val reader: ObjectReader = new ObjectMapper().readerFor(classOf[Trade])

  def read(value: Array[Byte]): Trade = {
    Progress.records.increment()
    reader.readValue(value)
  }
}
