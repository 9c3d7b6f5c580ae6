# Three buckets: the lake (tables and checkpoints), the artifacts (settings, DAGs, jobs' logs) and who asked for what. A fourth,
# if it is asked for, is a locked copy of the archive (lock.tf).

data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  account = data.aws_caller_identity.this.account_id
  arn     = "arn:${data.aws_partition.this.partition}:s3:::"
  # Bucket names are shared by all of AWS.
  buckets   = { for use in concat(["lake", "artifacts", "access"], local.locked) : use => "${var.name}-${local.account}-${use}" }
  encrypted = setsubtract(keys(local.buckets), ["access"])
  root      = "lake" # folder of all tables in the bucket `lake`

  # Who writes logs of access, and where.
  writers = {
    Lake      = { service = "logging.s3.amazonaws.com", prefix = "s3/lake" }
    Artifacts = { service = "logging.s3.amazonaws.com", prefix = "s3/artifacts" }
    Archive   = { service = "logging.s3.amazonaws.com", prefix = "s3/archive" }
    Balancer  = { service = "logdelivery.elasticloadbalancing.amazonaws.com", prefix = "trino" }
  }
}

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV_AWS_144:the log is the source of truth and everything comes back from it; the archive has a copy if that is asked for (lock.tf)
  #checkov:skip=CKV2_AWS_62:nothing listens to events of a bucket; tables are found by their own logs
  #checkov:skip=CKV_AWS_145:lake and artifacts have our key (encryption.tf); S3 can deliver access logs only with its own
  #checkov:skip=CKV_AWS_18:lake and artifacts are logged into `access` (below), which would log itself without end
  #checkov:skip=CKV2_AWS_61:lifecycle.tf has the rules of each bucket
  #checkov:skip=CKV_AWS_21:versioning is on for all of them, below
  for_each = local.buckets

  bucket              = each.value
  force_destroy       = var.destroy_with_data
  object_lock_enabled = each.key == "archive" ? true : null
}

resource "aws_s3_bucket_public_access_block" "this" {
  for_each = aws_s3_bucket.this

  bucket                  = each.value.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  rule {
    object_ownership = "BucketOwnerEnforced" # no ACLs
  }
}

resource "aws_s3_bucket_versioning" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_logging" "this" {
  for_each = local.encrypted

  bucket        = aws_s3_bucket.this[each.key].id
  target_bucket = aws_s3_bucket.this["access"].id
  target_prefix = "s3/${each.key}/"

  depends_on = [aws_s3_bucket_policy.this] # which lets S3 write there
}
