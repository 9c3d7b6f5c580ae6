# A copy of the archive that nobody can delete for some days. S3 copies it, so nothing that runs here can reach it, and the lake's
# own bucket has no lock: partial rows, checkpoints and replaced builds must go (docs/decisions/0049).

locals {
  locked  = var.archive_lock_days > 0 ? ["archive"] : []
  archive = "${local.root}/archive/" # prefix of the archive's tables
}

# Governance, not compliance: a wrong number of days can be corrected by who may change the bucket's policy.
resource "aws_s3_bucket_object_lock_configuration" "archive" {
  count = length(local.locked)

  bucket = aws_s3_bucket.this["archive"].id

  rule {
    default_retention {
      mode = "GOVERNANCE"
      days = var.archive_lock_days
    }
  }

  depends_on = [aws_s3_bucket_versioning.this]
}

resource "aws_s3_bucket_replication_configuration" "archive" {
  count = length(local.locked)

  bucket = aws_s3_bucket.this["lake"].id
  role   = aws_iam_role.copy[0].arn

  rule {
    id     = "archive"
    status = "Enabled"

    filter {
      prefix = local.archive
    }

    # A marker hides an object of the copy and deletes nothing: its lifecycle rule does that, after the lock.
    delete_marker_replication {
      status = "Enabled"
    }

    source_selection_criteria {
      sse_kms_encrypted_objects {
        status = "Enabled"
      }
    }

    destination {
      bucket        = aws_s3_bucket.this["archive"].arn
      storage_class = "GLACIER_IR" # read only after a disaster, and then at once

      encryption_configuration {
        replica_kms_key_id = var.key_arn
      }
    }
  }

  depends_on = [aws_iam_role_policy.copy, aws_s3_bucket_object_lock_configuration.archive, aws_s3_bucket_versioning.this]
}

resource "aws_iam_role" "copy" {
  count = length(local.locked)

  name               = "${var.name}-archive-copy"
  assume_role_policy = data.aws_iam_policy_document.copy_trust[0].json
}

data "aws_iam_policy_document" "copy_trust" {
  count = length(local.locked)

  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["s3.amazonaws.com"] # AWS names no condition for it; who may pass the role decides who copies
    }
  }
}

resource "aws_iam_role_policy" "copy" {
  count = length(local.locked)

  name   = "copy"
  role   = aws_iam_role.copy[0].id
  policy = data.aws_iam_policy_document.copy[0].json
}

data "aws_iam_policy_document" "copy" {
  count = length(local.locked)

  statement {
    sid       = "Lake"
    actions   = ["s3:GetReplicationConfiguration", "s3:ListBucket"]
    resources = ["${local.arn}${local.buckets.lake}"]
  }

  statement {
    sid       = "Archive"
    actions   = ["s3:GetObjectVersionAcl", "s3:GetObjectVersionForReplication", "s3:GetObjectVersionTagging"]
    resources = ["${local.arn}${local.buckets.lake}/${local.archive}*"] # the archive alone
  }

  statement {
    sid       = "Copy"
    actions   = ["s3:ReplicateDelete", "s3:ReplicateObject", "s3:ReplicateTags"]
    resources = ["${local.arn}${local.buckets.archive}/*"] # writes only
  }

  statement {
    sid       = "Key"
    actions   = ["kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"]
    resources = [var.key_arn]

    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["s3.${data.aws_region.this.name}.amazonaws.com"]
    }
  }
}
