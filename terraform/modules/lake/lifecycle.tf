# What is deleted can be had back for some days; then it costs nothing any more. What tables name is never touched:
# `lk cleanup` alone decides what nothing names.

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  for_each = var.lifecycle_rules ? aws_s3_bucket.this : {}

  bucket = each.value.id

  rule {
    id     = "unfinished"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }

    noncurrent_version_expiration {
      noncurrent_days = var.days_deleted_is_kept
    }

    expiration {
      expired_object_delete_marker = true
    }
  }

  # The archive is written once and read by full builds only.
  dynamic "rule" {
    for_each = each.key == "lake" ? [local.archive] : []

    content {
      id     = "archive"
      status = "Enabled"

      filter {
        prefix = rule.value
      }

      transition {
        days          = 30
        storage_class = "INTELLIGENT_TIERING"
      }
    }
  }

  dynamic "rule" {
    for_each = each.key == "access" ? [var.days_access_logs_are_kept] : []

    content {
      id     = "access-logs"
      status = "Enabled"

      filter {}

      expiration {
        days = rule.value
      }
    }
  }

  depends_on = [aws_s3_bucket_versioning.this]
}
