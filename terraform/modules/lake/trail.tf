# Who wrote or deleted which object of the lake and of the archive's copy: CloudTrail's records name the role and the session, and S3's access logs
# name readers too. Each hour has a signed digest, so that a record that was removed or changed is found
# (`aws cloudtrail validate-logs`).

locals {
  trail     = "${var.name}-lake"
  trail_arn = "arn:${data.aws_partition.this.partition}:cloudtrail:${data.aws_region.this.name}:${local.account}:trail/${local.trail}"
}

resource "aws_cloudtrail" "lake" {
  #checkov:skip=CKV_AWS_67:the trail is of buckets that lie in one region
  #checkov:skip=CKV_AWS_35:the bucket of access logs has S3's own key, which deliveries of S3 and the load balancer need
  #checkov:skip=CKV_AWS_252:nobody waits for files of a trail; they are read after something happened
  #checkov:skip=CKV2_AWS_10:records of each write would cost more in CloudWatch than all other logs
  name                          = local.trail
  s3_bucket_name                = aws_s3_bucket.this["access"].id
  s3_key_prefix                 = "cloudtrail"
  enable_log_file_validation    = true
  include_global_service_events = false

  advanced_event_selector {
    name = "writes and deletes in the lake"

    field_selector {
      field  = "eventCategory"
      equals = ["Data"]
    }

    field_selector {
      field  = "resources.type"
      equals = ["AWS::S3::Object"]
    }

    field_selector {
      field  = "readOnly"
      equals = ["false"]
    }

    field_selector {
      field       = "resources.ARN"
      starts_with = [for use in concat(local.locked, ["lake"]) : "${local.arn}${local.buckets[use]}/"]
    }
  }

  depends_on = [aws_s3_bucket_policy.this] # which lets CloudTrail write there
}

data "aws_iam_policy_document" "trail" {
  dynamic "statement" {
    for_each = {
      TrailFinds  = { action = "s3:GetBucketAcl", resource = "" }
      TrailWrites = { action = "s3:PutObject", resource = "/cloudtrail/AWSLogs/${local.account}/*" }
    }

    content {
      sid       = statement.key
      actions   = [statement.value.action]
      resources = ["${local.arn}${local.buckets.access}${statement.value.resource}"]

      principals {
        type        = "Service"
        identifiers = ["cloudtrail.amazonaws.com"]
      }

      condition {
        test     = "StringEquals"
        variable = "aws:SourceArn"
        values   = [local.trail_arn]
      }
    }
  }
}
