resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = contains(local.encrypted, each.key) ? "aws:kms" : "AES256"
      kms_master_key_id = contains(local.encrypted, each.key) ? var.key_arn : null
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id
  policy = data.aws_iam_policy_document.bucket[each.key].json

  depends_on = [aws_s3_bucket_public_access_block.this]
}

data "aws_iam_policy_document" "bucket" {
  for_each = local.buckets

  source_policy_documents = each.key == "access" ? [data.aws_iam_policy_document.trail.json] : []

  statement {
    sid       = "OnlyTls"
    effect    = "Deny"
    actions   = ["s3:*"]                                                     # denied, whatever it is
    resources = ["${local.arn}${each.value}", "${local.arn}${each.value}/*"] # of this bucket

    principals {
      type        = "AWS"
      identifiers = ["*"] # denied, whoever it is
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }

  # Lifecycle rules are not asked: they delete what was replaced, after its lock.
  dynamic "statement" {
    for_each = each.key == "archive" && !var.destroy_with_data ? ["NobodyUnlocks"] : []

    content {
      sid       = statement.value
      effect    = "Deny"
      actions   = ["s3:BypassGovernanceRetention", "s3:DeleteObjectVersion"]
      resources = ["${local.arn}${each.value}/*"] # each object of the copy

      principals {
        type        = "AWS"
        identifiers = ["*"] # denied, whoever it is
      }
    }
  }

  dynamic "statement" {
    for_each = each.key == "access" ? local.writers : {}

    content {
      sid       = statement.key
      actions   = ["s3:PutObject"]
      resources = ["${local.arn}${each.value}/${statement.value.prefix}/*"] # its own prefix

      principals {
        type        = "Service"
        identifiers = [statement.value.service]
      }

      condition {
        test     = "StringEquals"
        variable = "aws:SourceAccount"
        values   = [local.account]
      }
    }
  }
}
