package org.apache.spark.sql.lk

import java.nio.charset.StandardCharsets.UTF_8
import java.time.ZoneOffset
import java.util.{Arrays, Locale}
import java.util.regex.Pattern

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.util.{LegacyDateFormats, TimestampFormatter}
import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/** Reads the text of one field as its declared type. One thread at a time: it keeps a matcher and texts it has seen.
  *
  * `read` answers UNSURE for every text that may break a rule of the field; the plain decoder then looks at the record.
  */
abstract class FieldReader(declared: JsonNode) {
  private val absent = FieldReader.text(declared, "absent").map(_.getBytes(UTF_8)).orNull
  private val required = declared.get("required").asBoolean
  private val matcher = FieldReader.text(declared, "pattern").map(p => Pattern.compile(s"\\A(?:$p)\\z").matcher("")).orNull

  /** The value where the record has none: null, or UNSURE if there must be one. */
  final val missing: Any = if (required) FieldReader.UNSURE else null

  /** The value of the bytes from `from` to before `to`; null if they mean "no value". */
  final def read(bytes: Array[Byte], from: Int, to: Int): Any =
    if (absent != null && Arrays.equals(bytes, from, to, absent, 0, absent.length)) missing else value(bytes, from, to)

  protected def value(bytes: Array[Byte], from: Int, to: Int): Any

  protected final def matches(text: => String): Boolean = matcher == null || matcher.reset(text).find()
}

object FieldReader {
  val UNSURE = new Object

  def text(declared: JsonNode, name: String): Option[String] =
    Option(declared.get(name)).filterNot(_.isNull).map(_.asText)

  def apply(declared: JsonNode): FieldReader = declared.get("kind").asText match {
    case "string" => new TextReader(declared)
    case "boolean" => new BooleanReader(declared)
    case "bigint" => new NumberReader(declared, value => value)
    case "timestamp" => new NumberReader(declared, millis => millis * 1000L)
    case "decimal" => new DecimalReader(declared)
    case "time" => new TimeReader(declared)
  }
}

/** A string. Short texts come again and again, so each is matched, and made a string, once. */
class TextReader(declared: JsonNode) extends FieldReader(declared) {
  private val hasPattern = declared.hasNonNull("pattern")
  private val seen = new Array[UTF8String](TextReader.SEEN)

  protected def value(bytes: Array[Byte], from: Int, to: Int): Any = {
    if (!hasPattern || to - from > TextReader.SHORT) return checked(bytes, from, to)
    var hash = 0
    var at = from
    while (at < to) { hash = hash * 31 + bytes(at); at += 1 }
    val slot = (hash ^ (hash >>> 16)) & (TextReader.SEEN - 1)
    val known = seen(slot)
    if (known != null && isEqual(known, bytes, from, to)) return known
    val read = checked(Arrays.copyOfRange(bytes, from, to), 0, to - from)
    read match {
      case text: UTF8String => seen(slot) = text
      case _ =>
    }
    read
  }

  private def isEqual(text: UTF8String, bytes: Array[Byte], from: Int, to: Int): Boolean = {
    if (text.numBytes != to - from) return false
    var at = from
    while (at < to) { if (text.getByte(at - from) != bytes(at)) return false; at += 1 }
    true
  }

  private def checked(bytes: Array[Byte], from: Int, to: Int): Any =
    if (matches(new String(bytes, from, to - from, UTF_8))) UTF8String.fromBytes(bytes, from, to - from)
    else FieldReader.UNSURE
}

object TextReader {
  val SEEN = 1024
  val SHORT = 32 // bytes
}

class BooleanReader(declared: JsonNode) extends FieldReader(declared) {
  private val yes = "true".getBytes(UTF_8)
  private val no = "false".getBytes(UTF_8)

  protected def value(bytes: Array[Byte], from: Int, to: Int): Any =
    if (Arrays.equals(bytes, from, to, yes, 0, yes.length)) true
    else if (Arrays.equals(bytes, from, to, no, 0, no.length)) false
    else FieldReader.UNSURE
}

/** Digits with a sign and `scale` decimals, as their unscaled value between `minimum` and `maximum`. */
abstract class DigitsReader(declared: JsonNode) extends FieldReader(declared) {
  protected val precision: Int = declared.get("precision").asInt
  protected val scale: Int = declared.get("scale").asInt
  private val wholeDigits = math.max(precision - scale, 1)
  private val minimum = declared.get("minimum").asLong
  private val maximum = declared.get("maximum").asLong
  private val hasPattern = declared.hasNonNull("pattern")

  protected def of(unscaled: Long): Any

  protected def value(bytes: Array[Byte], from: Int, to: Int): Any = {
    if (hasPattern && !matches(new String(bytes, from, to - from, UTF_8))) return FieldReader.UNSURE
    val isNegative = from < to && bytes(from) == '-'
    val first = if (isNegative) from + 1 else from
    var at = first
    var digits = 0L
    while (at < to && at - first < wholeDigits && DigitsReader.isDigit(bytes(at))) {
      digits = digits * 10 + (bytes(at) - '0')
      at += 1
    }
    if (at == first) return FieldReader.UNSURE
    var decimals = 0
    if (scale > 0 && at + 1 < to && bytes(at) == '.') {
      at += 1
      while (at < to && decimals < scale && DigitsReader.isDigit(bytes(at))) {
        digits = digits * 10 + (bytes(at) - '0')
        decimals += 1
        at += 1
      }
    }
    if (at != to) return FieldReader.UNSURE
    while (decimals < scale) { digits *= 10; decimals += 1 }
    val unscaled = if (isNegative) -digits else digits
    if (unscaled < minimum || unscaled > maximum) FieldReader.UNSURE else of(unscaled)
  }
}

object DigitsReader {
  def isDigit(byte: Byte): Boolean = byte >= '0' && byte <= '9'
}

class NumberReader(declared: JsonNode, convert: Long => Long) extends DigitsReader(declared) {
  protected def of(unscaled: Long): Any = convert(unscaled)
}

class DecimalReader(declared: JsonNode) extends DigitsReader(declared) {
  protected def of(unscaled: Long): Any = Decimal(unscaled, precision, scale)
}

/** A time as text. Records that follow each other often have the same one. */
class TimeReader(declared: JsonNode) extends FieldReader(declared) {
  private val hasPattern = declared.hasNonNull("pattern")
  private val minimum = declared.get("minimum").asLong
  private val maximum = declared.get("maximum").asLong
  // As in Spark's try_to_timestamp.
  private val formatter = TimestampFormatter(
    declared.get("time_format").asText, ZoneOffset.UTC, TimestampFormatter.defaultLocale,
    LegacyDateFormats.SIMPLE_DATE_FORMAT, isParsing = true)
  private var last = new Array[Byte](0)
  private var lastValue: Any = FieldReader.UNSURE

  protected def value(bytes: Array[Byte], from: Int, to: Int): Any = {
    if (!Arrays.equals(bytes, from, to, last, 0, last.length)) {
      lastValue = parsed(new String(bytes, from, to - from, UTF_8))
      last = Arrays.copyOfRange(bytes, from, to)
    }
    lastValue
  }

  private def parsed(text: String): Any =
    try {
      val millis = Math.floorDiv(formatter.parse(text), 1000L)
      val isGood = millis >= minimum && millis <= maximum && (!hasPattern || matches(text))
      if (isGood) millis * 1000L else FieldReader.UNSURE
    } catch { case NonFatal(_) => FieldReader.UNSURE }
}
