package org.apache.spark.sql.lk

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.regex.Pattern

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String

/** Reads the fields of a record that has a declared form, in one pass over its bytes. One thread at a time.
  *
  * A form of JSON: the names in the declared order, and marks with a space after each or after none. Of lines: the
  * pattern, and ASCII only. The declaration is written by core/decoding/one_pass.py.
  */
class OnePass(declaration: String) {
  private val declared = new ObjectMapper().readTree(declaration)
  private val maxBytes = declared.get("max_bytes").asInt
  private val readers = declared.get("fields").elements.asScala.map(FieldReader(_)).toArray
  private val forms = declared.get("forms").elements.asScala.map(new Form(_)).toArray
  private val line = FieldReader.text(declared, "line").map(p => Pattern.compile(s"\\A(?:$p)\\z").matcher("")).orNull
  private val fields = new Array[Any](readers.length)
  private val needsKey = declared.get("needs_key").asBoolean
  private val needsTextKey = declared.get("needs_text_key").asBoolean
  private val columns = declared.get("columns").elements.asScala.map(_.asInt).toArray // numbers of fields, in order
  private val eventTime = declared.get("event_time").asInt // number of its field; -1: the time of the record
  private val first = if (declared.get("has_deleted").asBoolean) 3 else 2 // columns before the fields

  /** Error, event time, `deleted` of a changelog, fields; null unless it is sure that the record breaks no rule of
    * its bytes or of a field.
    */
  def event(key: Array[Byte], value: Array[Byte], micros: Long): InternalRow =
    try eventOrOverflow(key, value, micros)
    catch { case _: StackOverflowError => null } // of a pattern, on a long text

  private def eventOrOverflow(key: Array[Byte], value: Array[Byte], micros: Long): InternalRow = {
    if (value == null || value.length > maxBytes || (needsKey && key == null)) return null
    if (needsTextKey && !UTF8String.fromBytes(key).isValid) return null
    if (!(if (line != null) readLine(value) else readJson(value))) return null
    val time = if (eventTime < 0) OnePass.recordTime(micros) else fields(eventTime)
    if (time == null) return null
    val values = new Array[Any](first + columns.length)
    values(1) = time
    if (first == 3) values(2) = false
    var n = 0
    while (n < columns.length) { values(first + n) = fields(columns(n)); n += 1 }
    new GenericInternalRow(values)
  }

  private def readJson(value: Array[Byte]): Boolean = {
    var n = 0
    while (n < forms.length && !OnePass.isAt(value, 0, forms(n).before(0))) n += 1
    n < forms.length && readJson(value, forms(n))
  }

  private def readJson(value: Array[Byte], form: Form): Boolean = {
    java.util.Arrays.fill(fields.asInstanceOf[Array[AnyRef]], null)
    var at = 0
    var bits = 0 // of all bytes of strings: negative if one is not ASCII
    var n = 0
    while (n < form.fields.length) {
      if (!OnePass.isAt(value, at, form.before(n))) return false
      val start = at + form.before(n).length
      val isText = start < value.length && value(start) == '"'
      val from = if (isText) start + 1 else start
      var to = from
      if (isText) {
        while (to < value.length && OnePass.isPlain(value(to))) { bits |= value(to); to += 1 }
        if (to == value.length || value(to) != '"') return false
      } else {
        while (to < value.length && value(to) != ',' && value(to) != '}' && value(to) > ' ') to += 1
        if (!OnePass.isToken(value, from, to) || (form.quoted(n) && value(from) != 'n')) return false
      }
      val reader = form.fields(n)
      if (reader >= 0) {
        val read = if (!isText && value(from) == 'n') readers(reader).missing else readers(reader).read(value, from, to)
        if (read.asInstanceOf[AnyRef] eq FieldReader.UNSURE) return false
        fields(reader) = read
      }
      at = if (isText) to + 1 else to
      n += 1
    }
    at + 1 == value.length && value(at) == '}' && (bits >= 0 || UTF8String.fromBytes(value).isValid)
  }

  private def readLine(value: Array[Byte]): Boolean = {
    var bits = 0
    var n = 0
    while (n < value.length) { if (value(n) == OnePass.SEPARATOR) return false; bits |= value(n); n += 1 }
    if (bits < 0) return false
    val found = line.reset(new String(value, ISO_8859_1))
    if (!found.find()) return false
    n = 0
    while (n < readers.length) {
      val from = found.start(n + 1) // of a group that took no part in the match: -1, and its text is empty
      val read = if (from < 0) readers(n).read(value, 0, 0) else readers(n).read(value, from, found.end(n + 1))
      if (read.asInstanceOf[AnyRef] eq FieldReader.UNSURE) return false
      fields(n) = read
      n += 1
    }
    true
  }

  /** The bytes before each value, the number of the field that gets the value or -1, and whether it must be a string. */
  private class Form(declared: JsonNode) {
    val before: Array[Array[Byte]] = declared.get("before").elements.asScala.map(_.asText.getBytes(UTF_8)).toArray
    val fields: Array[Int] = declared.get("fields").elements.asScala.map(_.asInt).toArray
    val quoted: Array[Boolean] = declared.get("quoted").elements.asScala.map(_.asBoolean).toArray
  }
}

object OnePass {
  val SEPARATOR: Byte = 1 // formats.py splits lines by it
  private val EARLIEST_MS = 31536000000L // as in core/decoding/field_types.py
  private val LATEST_MS = 7258118400000L
  private val WORDS = Array("true", "false", "null").map(_.getBytes(UTF_8))

  def isAt(bytes: Array[Byte], at: Int, expected: Array[Byte]): Boolean = {
    if (at + expected.length > bytes.length) return false
    var n = 0
    while (n < expected.length) { if (bytes(at + n) != expected(n)) return false; n += 1 }
    true
  }

  /** A record's own time in whole milliseconds; null outside the years of event times. */
  def recordTime(micros: Long): Any = {
    val millis = Math.floorDiv(micros, 1000L)
    if (millis >= EARLIEST_MS && millis < LATEST_MS) millis * 1000L else null
  }

  /** Whether a byte stands for itself in a JSON string; a negative one is part of a character. */
  def isPlain(byte: Byte): Boolean = byte != '"' && byte != '\\' && (byte >= ' ' || byte < 0)

  /** Whether the bytes are a JSON value without quotes; numbers with an exponent are not looked at. */
  def isToken(bytes: Array[Byte], from: Int, to: Int): Boolean = {
    if (from == to) return false
    if (bytes(from) >= 'a') return WORDS.exists(word => java.util.Arrays.equals(bytes, from, to, word, 0, word.length))
    val first = if (bytes(from) == '-') from + 1 else from
    var at = first
    while (at < to && DigitsReader.isDigit(bytes(at))) at += 1
    if (at == first || (bytes(first) == '0' && at - first > 1)) return false
    if (at == to) return true
    if (bytes(at) != '.' || at + 1 == to) return false
    at += 1
    while (at < to && DigitsReader.isDigit(bytes(at))) at += 1
    at == to
  }
}
